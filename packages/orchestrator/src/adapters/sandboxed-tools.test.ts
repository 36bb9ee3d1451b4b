import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator, type TestOrchestrator } from '../node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

const patience = { timeout: 60_000, interval: 100 }

test('an agent may do no more than any above it, however far up', async () => {
  const office = await open()
  const child = await create(office, 'Child', office.rootId)
  const grandchild = await create(office, 'Grandchild', child)
  const { orchestrator } = await office.reopen(() => configure(office, { agent: 'reader' }))
  const params = { projectId: office.projectId, taskId: grandchild }
  await orchestrator.sendMessage({ params, query: {}, body: { text: 'Go' } })

  await vi.waitFor(
    async () =>
      expect(await orchestrator.getTask({ params, query: {}, body: undefined })).toMatchObject({
        activity: 'blocked',
        problem: {
          code: 'AUTHORIZATION_DENIED',
          message: expect.stringContaining('matrix://agent/default may do more than matrix://agent/reader'),
        },
      }),
    patience,
  )
  expect(office.mock.requests).toEqual([])
})

test('a task for an agent that may do more than those above it is refused when it is made', async () => {
  const office = await open({ agent: 'reader' })
  const child = await create(office, 'Child', office.rootId, 'reader')

  await expect(create(office, 'Below the root', office.rootId)).rejects.toMatchObject({ code: 'AUTHORIZATION_DENIED' })
  await expect(create(office, 'Below a child', child)).rejects.toMatchObject({ code: 'AUTHORIZATION_DENIED' })
})

test("what the user denies is kept from every agent, Matrix's own tools too, but for those with which an agent waits, asks and ends", async () => {
  const office = await open({ deny: ['@mxd/delete_*', 'commit', 'done', 'yield', 'clarify'] })
  const told = await run(office, [
    { name: builtinTools.bash, input: { command: 'echo hi > note.txt' } },
    { name: loopTools.done, input: { status: 'passed', summary: 'Left as it is.' } },
  ])

  expect(told).toEqual(expect.arrayContaining([...Object.values(loopTools), orchestratorTools.mergeTask]))
  expect(told).not.toContain(orchestratorTools.deleteTask)
  expect(told).not.toContain(orchestratorTools.commit)
})

test('an agent whose manifest does not let it write cannot commit, bring its branch up to date or merge', async () => {
  const office = await open({ agent: 'reader' })
  const told = await run(office, [{ name: loopTools.done, input: { status: 'passed', summary: 'Read.' } }])

  expect(told).toEqual(expect.arrayContaining([orchestratorTools.getChanges, orchestratorTools.createTask]))
  const { commit, updateBranch, mergeTask } = orchestratorTools
  expect(told.filter((name) => [commit, updateBranch, mergeTask, builtinTools.bash].includes(name as never))).toEqual(
    [],
  )
})

test('where one command may run at a time others wait for it, but not for somebody who waits for one in the background', async () => {
  const office = await open({ maxConcurrentHeavyTools: 1 })
  const bash = (command: string, background = false) => ({ name: builtinTools.bash, input: { command, background } })
  const alone = bash('mkdir busy && sleep 0.5 && rmdir busy && echo alone')
  const results = resultsOf(office)
  office.mock.play({
    match: 'Go',
    turns: [
      { toolCalls: [bash('until [ -e go ]; do sleep 0.1; done; rm go', true)] },
      {
        capture: { id: { from: 'toolResults', pattern: '(bg_\\w+)' } },
        toolCalls: [
          { name: builtinTools.background, input: { action: 'await', id: '{{id}}', timeout_ms: 600_000 } },
          bash('touch go'),
        ],
      },
      { toolCalls: [alone, alone] },
      { toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Ran.' } }] },
    ],
  })
  await office.send('Go')
  await passed(office)

  expect(results).toContain('[bg_1: exit code 0]')
  expect(results.filter((text) => text === 'alone')).toHaveLength(2)
})

/** The real orchestrator, with a second manifest whose agents only read. */
async function open(settings: Record<string, unknown> = {}): Promise<TestOrchestrator> {
  const office = await openTestOrchestrator(settings)
  onTestFinished(() => office.close())
  const folder = join(office.dataDirectory, 'agents')
  const manifest = JSON.parse(await readFile(join(folder, 'default.json'), 'utf8'))
  const reader = { ...manifest, agent: 'matrix://agent/reader', allowed_side_effects: ['read'] }
  await writeFile(join(folder, 'reader.json'), JSON.stringify(reader))
  return office
}

async function configure({ dataDirectory }: TestOrchestrator, settings: Record<string, unknown>): Promise<void> {
  await writeFile(join(dataDirectory, 'config.json'), JSON.stringify(settings), { mode: 0o600 })
}

async function create(
  { orchestrator, projectId }: TestOrchestrator,
  title: string,
  parentId: string,
  agent = 'default',
): Promise<string> {
  const body = { title, parentId, agent }
  return (await orchestrator.createTask({ params: { projectId }, query: {}, body })).id
}

/** Lets the root agent make calls until its task has passed, and answers with the tools that its model was told of. */
async function run(
  office: TestOrchestrator,
  calls: { name: string; input: Record<string, unknown> }[],
): Promise<string[]> {
  const { mock, send } = office
  mock.play({ match: 'Go', turns: calls.map((call) => ({ toolCalls: [call] })) })
  await send('Go')
  await passed(office)
  const { tools } = JSON.parse(mock.requests[0]?.body ?? '') as { tools: { name: string }[] }
  return tools.map(({ name }) => name)
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
    const [part] = frame.event.content as { text?: string }[]
    results.push(part?.text ?? '')
  })
  return results
}
