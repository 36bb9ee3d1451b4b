import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openTestOrchestrator } from './node-orchestrator.testing.ts'
import type { Orchestrator } from './operations.ts'

vi.setConfig({ testTimeout: 120_000 })

const patience = { timeout: 60_000, interval: 100 }
const none = { query: {}, body: undefined }
const waits = { toolCalls: [{ name: 'mcp__mxd__yield' }] }

test('a damaged session is put before a person with what to do, the others go on, and once repaired so does it', async () => {
  const { mock, orchestrator, projectId, rootId, dataDirectory, send, reopen, close } = await openTestOrchestrator()
  mock.play({ match: 'Wait for the others', turns: [waits, waits, waits, waits, waits] })
  mock.play({ match: '# Part', turns: [waits, waits, waits] })
  await send('Wait for the others')
  const body = { title: 'Part', description: '', parentId: rootId }
  const { id: taskId } = await orchestrator.createTask({ params: { projectId }, query: {}, body })
  const say = (to: Orchestrator, text: string, id = taskId) =>
    to.sendMessage({ params: { projectId, taskId: id }, query: {}, body: { text } })
  /** News of the tree are pending until something else wakes the agent. */
  const rests = (where: Orchestrator, id: string, pendingMessages = 0) =>
    vi.waitFor(async () => {
      const task = await where.getTask({ params: { projectId, taskId: id }, ...none })
      expect(task).toMatchObject({ activity: 'waiting', pendingMessages, problem: null })
    }, patience)
  await say(orchestrator, 'Begin')
  await rests(orchestrator, taskId)
  await rests(orchestrator, rootId)

  const file = join(dataDirectory, 'projects', projectId, 'sessions', `${taskId}.jsonl`)
  const { orchestrator: again, resumed } = await reopen(() => flipBit(file, 3))
  expect(resumed.problems.join()).toContain(`${taskId}.jsonl:4`)
  expect(await again.listAttention({ params: {}, ...none })).toMatchObject([
    { kind: 'failure', taskId, text: expect.stringMatching(/\.jsonl:4[\s\S]*matrix task repair/) },
  ])
  await expect(say(again, 'Hello?')).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
  await again.createTask({ params: { projectId }, query: {}, body: { ...body, title: 'Piece', parentId: taskId } })
  await say(again, 'Are you well?', rootId)
  await rests(again, rootId)

  const repaired = await again.repairSession({ params: { projectId, taskId }, ...none })
  expect(repaired?.outcome).toBe('restored')
  expect(existsSync(repaired?.original ?? '')).toBe(true)
  expect(await again.listAttention({ params: {}, ...none })).toEqual([])
  await rests(again, taskId, 1)
  const { events } = await again.readEvents({ params: { projectId, taskId }, query: { limit: 50 }, body: undefined })
  expect(JSON.stringify(events)).toContain('Piece')
  await say(again, 'And you?')
  await rests(again, taskId)
  expect(mock.problems).toEqual([])
  await close()
})

test('a project whose tree is lost opens although its root has a damaged session, which can be repaired then', async () => {
  const { mock, projectId, rootId, dataDirectory, send, reopen, close } = await openTestOrchestrator()
  mock.play({ match: 'Wait for the others', turns: [waits, waits] })
  await send('Wait for the others')
  const folder = join(dataDirectory, 'projects', projectId)
  const { orchestrator, resumed } = await reopen(async () => {
    await flipBit(join(folder, 'sessions', `${rootId}.jsonl`), 1)
    await rm(join(folder, 'tree.json'))
  })
  const params = { projectId, taskId: rootId }
  const repaired = await orchestrator.repairSession({ params, ...none })
  await orchestrator.sendMessage({ params, query: {}, body: { text: 'Are you well?' } })

  expect(resumed.problems.join()).toContain('1 tasks were rebuilt')
  expect(repaired?.outcome).toBe('restored')
  await vi.waitFor(async () => {
    const root = await orchestrator.getTask({ params, ...none })
    expect(root).toMatchObject({ status: 'in_progress', activity: 'waiting', pendingMessages: 0, problem: null })
    expect(root.branch).not.toBeNull()
  }, patience)
  expect(mock.problems).toEqual([])
  await close()
})

/** Damages one line as a failing disk would. */
async function flipBit(file: string, index: number): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, lines.map((line, at) => (at === index ? line.replace('"type"', '"tyqe"') : line)).join('\n'))
}
