import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator } from './node-orchestrator.testing.ts'

const CHILDREN = 49
const MAY_ASK = 4
const patience = { timeout: 200_000, interval: 100 }

test('forty-nine children launched at once all work in worktrees of their own, and no more ask the model than may', {
  timeout: 240_000,
}, async () => {
  const gate = await openGate()
  const office = await openTestOrchestrator(
    { maxConcurrentModelCalls: MAY_ASK },
    { mock: { baseUrl: gate.url, isDemo: () => false } },
  )
  onTestFinished(() => office.close())
  gate.leadTo(office.mock.url)
  const titles = Array.from({ length: CHILDREN }, (_, index) => `Child ${100 + index}`)
  for (const title of titles)
    office.mock.play({
      match: title,
      turns: [{ toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Here.' } }] }],
    })
  const { orchestrator, projectId, rootId } = office
  const children = await Promise.all(
    titles.map((title) => {
      const body = { title, description: '', parentId: rootId }
      return orchestrator.createTask({ params: { projectId }, query: {}, body })
    }),
  )
  await Promise.all(
    children.map(({ id }) =>
      orchestrator.sendMessage({ params: { projectId, taskId: id }, query: {}, body: { text: 'Go' } }),
    ),
  )
  const tasks = () => orchestrator.listTasks({ params: { projectId }, query: {}, body: undefined })
  await vi.waitFor(async () => {
    expect((await tasks()).filter(({ activity }) => activity === 'working')).toHaveLength(CHILDREN)
    expect(gate.most()).toBe(MAY_ASK)
  }, patience)
  gate.open()
  await vi.waitFor(async () => {
    const ended = (await tasks()).filter(({ id, status }) => id !== rootId && status === 'passed')
    expect(ended).toHaveLength(CHILDREN)
  }, patience)

  office.mock.verify()
  const worktrees = (await tasks()).flatMap(({ id, worktreePath }) => (id === rootId ? [] : [worktreePath]))
  expect(new Set(worktrees).size).toBe(CHILDREN)
  expect(worktrees).not.toContain(null)
  expect(gate.most()).toBe(MAY_ASK)
  expect(await orchestrator.listAttention({ params: {}, query: {}, body: undefined })).not.toContainEqual(
    expect.objectContaining({ kind: 'failure' }),
  )
})

/** Stands before the model, holds every request until it is opened, and counts how many are in it at once. */
async function openGate() {
  let target = ''
  let inside = 0
  let most = 0
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const server = createServer((asked, answer) => {
    inside += 1
    most = Math.max(most, inside)
    answer.on('close', () => {
      inside -= 1
    })
    const { method = 'GET', headers, url = '/' } = asked
    const passed = request(new URL(url, target), { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 500, reply.headers)
      reply.pipe(answer)
    })
    void opened.then(() => asked.pipe(passed))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(url: string) {
      target = url
    },
    open: () => open(),
    most: () => most,
  }
}
