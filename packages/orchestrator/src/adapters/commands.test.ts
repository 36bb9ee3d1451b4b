import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { builtinTools, loopTools } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTestOrchestrator, type TestOrchestrator } from '../node-orchestrator.testing.ts'

vi.setConfig({ testTimeout: 120_000 })

const patience = { timeout: 60_000, interval: 50 }
const finish = { toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Ran.' } }] }
const bash = (input: Record<string, unknown>) => ({ toolCalls: [{ name: builtinTools.bash, input }] })

test('what a command prints is shown while it runs', async () => {
  const { office, frames } = await open()
  office.mock.play({ match: 'Go', turns: [bash({ command: 'echo building; sleep 1; echo built' }), finish] })
  await office.send('Go')
  await vi.waitFor(() => expect(outputsOf(frames)).toBe('building\n'), patience)

  expect(frames.some((frame) => isResult(frame))).toBe(false)
  await vi.waitFor(() => expect(resultsOf(frames)).toEqual(['building\nbuilt', expect.anything()]), patience)
})

test('an agent that is stopped keeps what its command printed, and is told when it resumes', async () => {
  const { office, frames } = await open()
  const params = { projectId: office.projectId, taskId: office.rootId }
  office.mock.play({
    match: 'Go',
    turns: [bash({ command: 'echo begun; sleep 90' }), { assert: { toolResults: ['begun'] }, ...finish }],
  })
  await office.send('Go')
  await vi.waitFor(() => expect(outputsOf(frames)).toBe('begun\n'), patience)
  await office.orchestrator.stopAgent({ params, query: {}, body: undefined })

  expect(resultsOf(frames)).toEqual([
    expect.stringMatching(/^begun\n\[ended after \d+\.\d s: the call was cancelled\]$/),
  ])
  await office.orchestrator.resumeAgent({ params, query: {}, body: undefined })
  await passed(office)
})

test('a command that runs when Matrix is closed keeps what it printed', async () => {
  const { office, frames } = await open()
  office.mock.play({
    match: 'Go',
    turns: [bash({ command: 'echo begun; sleep 90' }), { assert: { toolResults: ['begun'] }, ...finish }],
  })
  await office.send('Go')
  await vi.waitFor(() => expect(outputsOf(frames)).toBe('begun\n'), patience)
  const { orchestrator } = await office.reopen(async () => {})

  await passed({ ...office, orchestrator })
})

test('long output is in a file that the agent reads also after its tools were started again', async () => {
  const { office, frames } = await open()
  office.mock.play({ match: 'Go', turns: [bash({ command: 'seq 1 20000' }), { text: 'Waiting.' }] })
  await office.send('Go')
  await vi.waitFor(() => expect(frames.some(isIdle)).toBe(true), patience)
  const [, file = ''] = /bytes are in (\S+) /.exec(resultsOf(frames)[0] ?? '') ?? []
  const { orchestrator } = await office.reopen(async () => {})
  const seen: Frame[] = []
  orchestrator.subscribe((frame) => seen.push(frame))
  const read = { name: builtinTools.readFile, input: { path: file, offset: 10_000, limit: 1 } }
  office.mock.play({ match: 'Read', turns: [{ toolCalls: [read] }, finish] })
  const params = { projectId: office.projectId, taskId: office.rootId }
  await orchestrator.sendMessage({ params, query: {}, body: { text: 'Read' } })
  await passed({ ...office, orchestrator })

  expect(resultsOf(seen)[0]).toMatch(/^ 10000\t10000\n/)
  const kept = join(office.dataDirectory, 'projects', office.projectId, 'output', office.rootId)
  expect(await readdir(kept)).toHaveLength(1)
})

async function open(): Promise<{ office: TestOrchestrator; frames: Frame[] }> {
  const office = await openTestOrchestrator()
  onTestFinished(() => office.close())
  const frames: Frame[] = []
  office.orchestrator.subscribe((frame) => frames.push(frame))
  return { office, frames }
}

function outputsOf(frames: readonly Frame[]): string {
  return frames
    .flatMap((frame) => (frame.kind === 'live' && frame.event.type === 'tool_output' ? [frame.event.text] : []))
    .join('')
}

function isResult(frame: Frame): boolean {
  return frame.kind === 'event' && frame.event.type === 'tool_result'
}

function isIdle(frame: Frame): boolean {
  return frame.kind === 'live' && frame.event.type === 'agent_idle'
}

function resultsOf(frames: readonly Frame[]): string[] {
  return frames.flatMap((frame) => {
    if (frame.kind !== 'event' || frame.event.type !== 'tool_result') return []
    const { content } = frame.event as { content: { text?: string }[] }
    return [content[0]?.text ?? '']
  })
}

async function passed({ orchestrator, projectId, rootId: taskId }: TestOrchestrator): Promise<void> {
  const look = { params: { projectId, taskId }, query: {}, body: undefined }
  await vi.waitFor(async () => expect(await orchestrator.getTask(look)).toMatchObject({ status: 'passed' }), patience)
}
