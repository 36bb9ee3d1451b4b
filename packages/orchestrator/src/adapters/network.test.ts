import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'
import { checkSandbox, resolveIdentity } from '@matrix/tool-manager'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator, type TestOrchestrator } from '../node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

const status = await checkSandbox({ identity: resolveIdentity() })
const boxedTest = test.runIf(status.available)
if (!status.available) process.stderr.write(`NOT TESTED: ${status.reason} To test it: ${status.fix}\n`)

const patience = { timeout: 60_000, interval: 100 }
const done = { name: loopTools.done, input: { status: 'passed', summary: 'Fetched.' } }
const bash = (command: string, background = false) => ({ name: builtinTools.bash, input: { command, background } })

let host: Server
let address: string
beforeEach(async () => {
  host = createServer((_, reply) => reply.end('hello from outside'))
  await new Promise<void>((ready) => host.listen(0, '127.0.0.1', ready))
  address = `127.0.0.1:${(host.address() as AddressInfo).port}`
})
afterEach(() => void host.close())

/** The loopback is left out of the proxy by its own rules, and stands for the outside here. */
const fetched = () => `curl -sS --noproxy "" http://${address}/`

boxedTest(
  'a command that is refused names the host, and reaches it once that is allowed, without a restart',
  async () => {
    const office = await open()
    const results = resultsOf(office)
    office.mock.play({
      match: 'Go',
      turns: [
        bash(fetched()),
        { name: orchestratorTools.requestAccess, input: { host: address, why: 'The test.' } },
        bash(fetched()),
        bash('echo nothing asked'),
        done,
      ].map((call) => ({ toolCalls: [call] })),
    })
    await office.send('Go')
    await passed(office)

    expect(results.slice(0, 4)).toEqual([
      `${address} is not in the list of hosts.\n[network: ${address} was refused. Ask for it with request_access.]`,
      `${address} is allowed for this project. Run the command again.`,
      'hello from outside',
      'nothing asked',
    ])
    const listed = await office.orchestrator.listHosts({
      params: {},
      query: { projectId: office.projectId },
      body: undefined,
    })
    expect(listed).toEqual([{ host: address, layer: 'local' }])
  },
)

boxedTest('what a command in the background was refused is told with its output', async () => {
  const office = await open()
  const results = resultsOf(office)
  office.mock.play({
    match: 'Go',
    turns: [
      { toolCalls: [bash(fetched(), true)] },
      { toolCalls: [{ name: builtinTools.background, input: { action: 'await', id: 'bg_1' } }] },
      { toolCalls: [done] },
    ],
  })
  await office.send('Go')
  await passed(office)

  expect(results[1]).toContain(`[network: ${address} was refused. Ask for it with request_access.]`)
})

boxedTest('a port that an agent listens on is forwarded on request, and ends with its sandbox', async () => {
  const office = await open()
  const { orchestrator, projectId, rootId: taskId } = office
  const serve = `node -e "require('http').createServer((q,r)=>r.end('hello from inside')).listen(8099,'127.0.0.1')"`
  office.mock.play({
    match: 'Go',
    turns: [{ toolCalls: [bash(serve, true)] }, { toolCalls: [{ name: loopTools.yield, input: {} }] }],
  })
  await office.send('Go')
  const params = { projectId, taskId }
  const forward = () => orchestrator.openForward({ params, query: {}, body: { port: 8099 } })
  const opened = await vi.waitFor(forward, patience)

  expect(await (await fetch(opened.url)).text()).toBe('hello from inside')
  expect(await forward()).toEqual(opened)
  const unused = orchestrator.openForward({ params, query: {}, body: { port: 8098 } })
  await expect(unused).rejects.toMatchObject({ code: 'PORT_UNUSED' })
  await orchestrator.stopAgent({ params, query: {}, body: undefined })
  await expect(fetch(opened.url)).rejects.toThrow()
  await vi.waitFor(
    async () =>
      expect(await orchestrator.listForwards({ params: { projectId }, query: {}, body: undefined })).toEqual([]),
    patience,
  )
})

async function open(): Promise<TestOrchestrator> {
  const office = await openTestOrchestrator()
  onTestFinished(() => office.close())
  return office
}

async function passed({ orchestrator, projectId, rootId: taskId }: TestOrchestrator): Promise<void> {
  const look = { params: { projectId, taskId }, query: {}, body: undefined }
  await vi.waitFor(async () => expect(await orchestrator.getTask(look)).toMatchObject({ status: 'passed' }), patience)
}

/** The texts of all results from now on. */
function resultsOf({ orchestrator }: TestOrchestrator): string[] {
  const results: string[] = []
  orchestrator.subscribe((frame) => {
    if (frame.kind !== 'event' || frame.event.type !== 'tool_result') return
    results.push((frame.event.content as { text?: string }[]).map(({ text }) => text).join('\n'))
  })
  return results
}
