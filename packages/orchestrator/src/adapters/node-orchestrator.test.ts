import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MockProvider } from '@matrix/mock-provider'
import type { Frame } from '@matrix/protocol/http'
import { defaultModels } from '@matrix/provider-loop'
import { expect, test, vi } from 'vitest'
import { openTestOrchestrator } from '../node-orchestrator.testing.ts'
import { nodeWorld } from './node-world.ts'

vi.setConfig({ testTimeout: 120_000 })

const patience = { timeout: 60_000, interval: 100 }

test('tasks at the greatest depth are not told to split, closed ones are archived, and room is held back on the disk', async () => {
  const { orchestrator, mock, send, dataDirectory, projectId, close } = await openTestOrchestrator(
    { maxDepth: 1, sessionKeep: 0 },
    { reserveBytes: 1024 * 1024 },
  )
  const prompts = new Map<string, string>()
  orchestrator.subscribe((frame) => {
    if (frame.kind === 'event' && frame.event.type === 'session_config')
      prompts.set(frame.taskId, String(frame.event.systemPrompt))
  })
  splitOnce(mock, 'close_task')
  await send('Split this')
  const list = () => orchestrator.listTasks({ params: { projectId }, query: {}, body: undefined })
  await vi.waitFor(
    async () => expect((await list()).map(({ status }) => status)).toEqual(['passed', 'closed']),
    patience,
  )

  const [root, leaf] = await list()
  expect(prompts.get(root?.id ?? '')).toContain('# Splitting work and joining it again')
  expect(prompts.get(leaf?.id ?? '')).not.toContain('# Splitting work and joining it again')
  const folder = join(dataDirectory, 'projects', projectId)
  await vi.waitFor(async () => {
    expect(await readdir(join(folder, 'archive'))).toEqual([expect.stringContaining(leaf?.id ?? '')])
    expect(await readdir(join(folder, 'sessions'))).toEqual([`${root?.id}.jsonl`])
    expect((await stat(join(folder, 'reserve'))).size).toBe(1024 * 1024)
  }, patience)
  await close()
})

test('a task for an agent that does not exist is refused when it is made, not when it starts', async () => {
  const { orchestrator, projectId, rootId, close } = await openTestOrchestrator()
  const params = { projectId }
  const task = await orchestrator.createTask({ params, query: {}, body: { title: 'Known', agent: 'default' } })

  await expect(
    orchestrator.createTask({ params, query: {}, body: { title: 'Unknown', agent: 'nope' } }),
  ).rejects.toMatchObject({ code: 'AGENT_UNKNOWN', message: 'There is no manifest "nope".' })
  const tasks = await orchestrator.listTasks({ params, query: {}, body: undefined })
  expect(tasks.map(({ id, agent }) => [id, agent])).toEqual([
    [rootId, undefined],
    [task.id, 'default'],
  ])
  await close()
})

test('an agent whose model says nothing for fifteen minutes waits for a person until it speaks', async () => {
  const real = nodeWorld()
  const long = new Set<() => void>()
  let ahead = 0
  const clock = {
    now: () => real.clock.now() + ahead,
    after(ms: number, callback: () => void) {
      if (ms !== 900_000) return real.clock.after(ms, callback)
      long.add(callback)
      return () => long.delete(callback)
    },
  }
  const { orchestrator, mock, send, rootId, close } = await openTestOrchestrator({}, { world: { ...real, clock } })
  const frames: Frame[] = []
  orchestrator.subscribe((frame) => frames.push(frame))
  mock.play({ match: 'Think', turns: [{ delayMs: 4_000, text: 'Thought.' }] })
  await send('Think')
  await vi.waitFor(() => expect([mock.requests.length, long.size]).toEqual([1, 1]), patience)
  ahead = 900_000
  for (const callback of long) callback()

  const id = `idle:${rootId}`
  expect(frames).toContainEqual({
    kind: 'attention',
    attention: expect.objectContaining({
      id,
      kind: 'failure',
      text: expect.stringContaining('nothing for 15 minutes'),
    }),
  })
  const speaks = (frame: Frame) => frame.kind === 'attention_over' && frame.id === id
  const answered = (frame: Frame) => frame.kind === 'event' && frame.event.type === 'turn_completed'
  await vi.waitFor(() => expect(frames.some(answered)).toBe(true), patience)
  expect(frames.findIndex(speaks)).toBeGreaterThan(0)
  expect(frames.findIndex(speaks)).toBeLessThan(frames.findIndex(answered))
  await close()
})

test('a command that was left running says how it ended, with its exit code and what it printed', async () => {
  const { mock, orchestrator, projectId, rootId, send, close } = await openTestOrchestrator()
  const bash = { name: 'mcp__mxd__bash', input: { command: 'echo all green; exit 3', background: true } }
  mock.play({
    match: 'Test it',
    turns: [
      { toolCalls: [bash] },
      { toolCalls: [{ name: 'mcp__mxd__yield' }] },
      { toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Seen.' } }] },
    ],
  })
  const ends: unknown[] = []
  const called: unknown[] = []
  const left: unknown[] = []
  orchestrator.subscribe((frame) => {
    if (frame.kind === 'event' && frame.event.type === 'tool_call') called.push(frame.event.uri)
    if (frame.kind === 'event' && frame.event.type === 'tool_result') left.push(frame.event.background)
    if (frame.kind !== 'event' || frame.event.type !== 'message') return
    const message = frame.event.message as { source: string }
    if (message.source === 'background_complete') ends.push(message)
  })
  await send('Test it')
  const params = { projectId, taskId: rootId }
  await vi.waitFor(
    async () =>
      expect(await orchestrator.getTask({ params, query: {}, body: undefined })).toMatchObject({ status: 'passed' }),
    patience,
  )

  expect(left[0]).toEqual({ processId: expect.stringMatching(/^bg_/) })
  expect(ends).toMatchObject([{ command: bash.input.command, exitCode: 3, output: 'all green' }])
  // What Matrix itself provides has no address; what a manifest pins has.
  expect(called).toEqual([expect.stringMatching(/^matrix:\/\/tool\/mcp\/mxd\/bash@\d/), undefined, undefined])
  await close()
})

test.each([
  ['a denial that cannot be read', '{ "deny": "bash" }'],
  ['a file that cannot be read', '{ "deny": ["bash"] "sandbox": "required" }'],
])('no agent starts while %s might forbid what it does', async (_, text) => {
  const { orchestrator, mock, dataDirectory, send, projectId, rootId, close } = await openTestOrchestrator()
  await writeFile(join(dataDirectory, 'config.json'), text)
  await send('Hello')
  const params = { projectId, taskId: rootId }
  const task = await vi.waitFor(async () => {
    const found = await orchestrator.getTask({ params, query: {}, body: undefined })
    expect(found.activity).toBe('blocked')
    return found
  }, patience)

  expect(task.problem).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('config.json:1') })
  expect(mock.requests).toEqual([])
  await close()
})

test('the model of root agents is told by name where none is set', async () => {
  const { orchestrator, close } = await openTestOrchestrator({ authGroups: { work: { openaiApiKey: 'sk-o' } } })

  expect(orchestrator.provider()).toEqual({ kind: 'configured', model: defaultModels.openai })
  await close()
})

test('what a deleted task has cost is the same after a restart, which finds its archived conversation', async () => {
  const { orchestrator, mock, send, projectId, rootId, reopen, close } = await openTestOrchestrator()
  splitOnce(mock, 'delete_task')
  await send('Split this')
  const params = { projectId, taskId: rootId }
  const root = await vi.waitFor(async () => {
    const task = await orchestrator.getTask({ params, query: {}, body: undefined })
    expect(task).toMatchObject({ status: 'passed', children: [] })
    return task
  }, patience)
  const again = await reopen(async () => {})
  const { treeCostUsd } = await again.orchestrator.getTask({ params, query: {}, body: undefined })

  expect(root.treeCostUsd).toBeGreaterThan(root.costUsd)
  expect(treeCostUsd).toBeCloseTo(root.treeCostUsd, 9)
  await close()
})

/** A root that has one sub task made and worked on, and then does this to it. */
function splitOnce(mock: MockProvider, ending: 'close_task' | 'delete_task'): void {
  mock.play({
    match: 'Split this',
    turns: [
      { toolCalls: [{ name: 'mcp__mxd__create_task', input: { title: 'Leaf', description: 'Do nothing' } }] },
      {
        capture: { id: { from: 'toolResults', pattern: 'Created task (\\w+)' } },
        toolCalls: [{ name: 'mcp__mxd__send_message', input: { taskId: '{{id}}', content: 'Go' } }],
      },
      { toolCalls: [{ name: 'mcp__mxd__yield' }] },
      { toolCalls: [{ name: `mcp__mxd__${ending}`, input: { taskId: '{{id}}' } }] },
      { toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Done.' } }] },
    ],
  })
  mock.play({
    match: '# Leaf',
    turns: [{ toolCalls: [{ name: 'mcp__mxd__done', input: { status: 'passed', summary: 'Nothing.' } }] }],
  })
}
