import { type MockProvider, openMockProvider, type Playbook } from '@matrix/mock-provider'
import { type DurableEvent, isPersistedByEmitEvent, loopTools, queueMessage } from '@matrix/protocol'
import { describe, expect, test } from 'vitest'
import { createAdapter, type Dialect, dialects, echo, models, stillPorts } from '../test/story.ts'
import { checkpointSections } from './compaction.ts'
import { interruptedText } from './conversation.ts'
import { createMessageQueue } from './message-queue.ts'
import { runProviderLoop } from './provider-loop.ts'
import { createLoopTools } from './tools.ts'

const summary = `<summary>${checkpointSections.join('\n')}\n{{place}}</summary>`
const say = (text: string) => ({ toolCalls: [{ name: echo.name, input: { text } }] })
const finish = { toolCalls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }

/** Four agents: one that waits for three others in any order, of which one is compacted. */
const story: Playbook = {
  stateless: true,
  asides: [{ when: interruptedText, text: 'That was cut off; again.', again: true }],
  conversations: [
    {
      name: 'root',
      match: 'You lead',
      otherwise: [{ when: 'passed', toolCalls: [{ name: loopTools.yield }] }],
      turns: [
        { text: 'I begin.', ...say('one') },
        { thinking: 'They work.', toolCalls: [{ name: loopTools.yield }] },
        { assert: { heard: ['parser passed', 'printer passed', 'tests passed'] }, text: 'All are in.', ...say('two') },
        finish,
      ],
    },
    {
      name: 'parser',
      match: 'the parser',
      turns: [
        { capture: { task: { from: 'userText', pattern: 'task (\\w+)' } }, ...say('{{task}}') },
        { assert: { toolResults: ['K7'] }, text: 'Now I wait.' },
        { text: summary },
        { fresh: true, text: 'Good.' },
        { assert: { userText: 'Finish' }, text: 'It was {{task}}.', ...say('{{task}}') },
        { assert: { toolResults: ['K7'] }, ...finish },
      ],
    },
    { name: 'others', match: { regex: 'the (printer|tests)' }, turns: [say('a'), say('b'), finish] },
  ],
}

/** Every event in CI; some of them while one works. */
const stride = process.env.MATRIX_PROPERTY_RUNS ? 1 : 4

function* moments(events: DurableEvent[]): Generator<number> {
  for (let at = 0; at < events.length; at += stride) yield at
}

type Scene = { opening: string; later: string[]; compactWhenIdle?: boolean }
const scenes: Scene[] = [
  { opening: 'You lead.', later: ['printer passed', 'parser passed and tests passed'] },
  { opening: 'You are the parser, task K7.', later: ['Finish'], compactWhenIdle: true },
  { opening: 'You are the printer.', later: [] },
  { opening: 'You are the tests.', later: [] },
]

describe.each(dialects)('through %s', (dialect) => {
  test('a story goes on after the mock was killed at every event of every agent', async () => {
    for (const scene of scenes) {
      const whole = await play(scene, dialect, {})
      expect(whole.at(-1)).toMatchObject({ type: 'tool_result', isError: false })
      for (const killMockAt of moments(whole))
        expect(simplify(await play(scene, dialect, { killMockAt })), `killed at ${killMockAt}`).toEqual(simplify(whole))
    }
  }, 300_000)

  test('a story goes on after mock and agent were killed at every event of every agent', async () => {
    for (const scene of scenes) {
      const whole = await play(scene, dialect, {})
      for (const killBothAt of moments(whole)) {
        const played = await play(scene, dialect, { killBothAt })
        expect(calls(played), `killed at ${killBothAt}`).toEqual(expect.arrayContaining(calls(whole)))
        expect(played.at(-1)).toMatchObject({ type: 'tool_result', isError: false })
      }
    }
  }, 300_000)
})

/** Plays one agent to its end, as a daemon with a disk would, and kills what it is told to after so many stored events. */
async function play(
  { opening, later, compactWhenIdle }: Scene,
  dialect: Dialect,
  { killMockAt, killBothAt }: { killMockAt?: number; killBothAt?: number },
): Promise<DurableEvent[]> {
  const disk: DurableEvent[] = []
  const unsaid = [...later]
  let mock: MockProvider | undefined
  let port = 0
  let compacted = !compactWhenIdle
  const restartMock = async () => {
    await mock?.close()
    mock = await openMockProvider({ playbook: story, port })
    port = Number(new URL(mock.url).port)
  }
  await restartMock()
  const url = `http://127.0.0.1:${port}`
  const adapter = createAdapter(dialect, { url, openaiUrl: `${url}/v1` })

  for (let lives = 0, ended = false; !ended; lives += 1) {
    const queue = createMessageQueue(pendingIn(disk))
    const send = (message: ReturnType<typeof queueMessage.user> | ReturnType<typeof queueMessage.compact>) => {
      disk.push({ type: 'message', taskId: 't1', ts: '2026-01-01T00:00:00.000Z', message })
      queue.enqueue(message)
    }
    if (lives === 0) send(queueMessage.user({ id: 'opening', text: opening }))
    const loop = runProviderLoop(
      adapter,
      {
        taskId: 't1',
        model: models[dialect],
        systemPrompt: 'You are an agent.',
        tools: [...createLoopTools(), echo],
        signal: new AbortController().signal,
        events: disk.slice(disk.findLastIndex((event) => event.type === 'compact_marker') + 1),
        ports: stillPorts(),
        retry: { attempts: 20 },
      },
      's1',
      queue,
    )
    const batch: DurableEvent[] = []
    for (let step = await loop.next(); ; step = await loop.next()) {
      if (step.done) {
        ended = true
        break
      }
      const event = step.value
      if (event.type === 'error') throw new Error(`${event.message} ${mock?.problems.join()}`)
      if (isPersistedByEmitEvent(event)) batch.push(JSON.parse(JSON.stringify(event)))
      // A compaction is stored as a whole or not at all.
      if (isPersistedByEmitEvent(event) && (batch[0]?.type !== 'compact_marker' || event.type === 'compacted_resume')) {
        disk.push(...batch.splice(0))
        if (disk.length - 1 === killMockAt) await restartMock()
        if (disk.length - 1 === killBothAt) {
          await loop.return(undefined as never)
          await restartMock()
          break
        }
      }
      if (event.type !== 'agent_idle' || queue.size > 0) continue
      if (compacted) send(queueMessage.user({ id: `later${unsaid.length}`, text: unsaid.shift() ?? 'Go on' }))
      else send(queueMessage.compact({ id: 'compact' }))
      if (!compacted) send(queueMessage.user({ id: 'hello', text: 'Are you well?' }))
      compacted = true
    }
  }
  adapter.close()
  await mock?.close()
  return disk
}

function pendingIn(disk: DurableEvent[]) {
  const consumed = new Set(disk.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : [])))
  return disk.flatMap((event) => (event.type === 'message' && !consumed.has(event.message.id) ? [event.message] : []))
}

/** What does not depend on the mock's memory: its cache is gone with it, and so are answers that were cut off. */
function simplify(events: DurableEvent[]): object[] {
  return events.flatMap((event): object[] => {
    if (event.type !== 'turn_completed') return [{ ...event, ts: '' }]
    return event.stopReason === 'failed' ? [] : [{ type: event.type, stopReason: event.stopReason }]
  })
}

function calls(events: DurableEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'tool_call' ? [JSON.stringify([event.name, event.input])] : []))
}
