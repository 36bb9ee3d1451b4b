import { type DurableEvent, loopTools, queueMessage, type ToolContent } from '@matrix/protocol'
import fc from 'fast-check'
import type { Dialect } from './story.ts'

const stamp = { taskId: 't1', ts: '2026-01-01T00:00:00.000Z' }
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** One thing that can happen to an agent. */
type Happening =
  | { kind: 'message'; text: string; image: boolean; late: boolean }
  | {
      kind: 'turn'
      text: string
      calls: { name: string; input: unknown; broken: boolean }[]
      form: 'plain' | 'thinking' | 'mixed'
      order: number
    }
  | { kind: 'notice' | 'failed' | 'request' | 'compaction' | 'fork' | 'error' }

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', ' ', '\n', 'héllo 👍', '"}]},{"role":"user"'),
)
const jsonObject = fc.dictionary(
  fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('1', '__proto__', 'toJSON')),
  fc.jsonValue({ maxDepth: 1 }),
  { maxKeys: 3 },
)

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      text: anyText,
      image: fc.boolean(),
      late: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      text: anyText,
      calls: fc.array(
        fc.record({
          name: fc.constantFrom('read', 'bash', 'mcp__mxd__bash', loopTools.yield),
          input: jsonObject,
          broken: fc.boolean(),
        }),
        { maxLength: 3 },
      ),
      form: fc.constantFrom('plain' as const, 'thinking' as const, 'mixed' as const),
      order: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('notice' as const, 'failed' as const, 'request' as const, 'error' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('compaction' as const, 'fork' as const) }) },
)

/** A step of a history: an event that is stored, or a moment in which the model is asked. */
export type Step = DurableEvent | 'request'

/** Random sessions as a loop would write them, with requests in between, some of which come to nothing. */
export function histories(dialect: Dialect): fc.Arbitrary<Step[]> {
  return fc.array(happening, { minLength: 1, maxLength: 14 }).map((happenings) => writeHistory(happenings, dialect))
}

function writeHistory(happenings: Happening[], dialect: Dialect): Step[] {
  const steps: Step[] = [consumedMessage('m-first', 'Begin'), consumed('m-first')].flat()
  const pending: string[] = []
  happenings.forEach((item, index) => {
    const id = `${index}`
    switch (item.kind) {
      case 'message':
        steps.push(consumedMessage(`m${id}`, item.text, item.image))
        pending.push(`m${id}`)
        if (!item.late) steps.push(...takeAll(pending))
        break
      case 'turn':
        // A model is only ever asked when something is unanswered.
        if (!isHeard(steps)) steps.push({ type: 'notice', ...stamp, text: `Go on ${id}` })
        steps.push(...takeAll(pending), 'request', ...turnEvents(item, id, dialect), ...resultEvents(item, id))
        break
      case 'notice':
        steps.push({ type: 'notice', ...stamp, text: `Notice ${id}` })
        break
      case 'failed':
        steps.push('request', { type: 'turn_completed', ...stamp, model: 'm', stopReason: 'failed', usage, costUsd: 0 })
        break
      case 'request':
        steps.push('request')
        break
      case 'error':
        steps.push({ type: 'error', ...stamp, code: 'PROVIDER_FAILED', message: 'x' })
        break
      case 'compaction':
        steps.push(
          { type: 'compact_marker', ...stamp, checkpoint: 'C' },
          { type: 'compacted_resume', ...stamp, text: `Resume ${id}` },
        )
        break
      case 'fork':
        steps.push({
          type: 'fork_marker',
          ...stamp,
          sourceTaskId: 't0',
          title: `Child ${id}`,
          description: '',
          worktreePath: null,
        })
    }
  })
  return [...steps, ...takeAll(pending), 'request']
}

/** Whether something was certainly said since the last answer. */
function isHeard(steps: Step[]): boolean {
  const last = steps.findLastIndex((step) => step !== 'request' && step.type === 'turn_completed')
  const saying = ['notice', 'compacted_resume', 'fork_marker', 'tool_result']
  return steps.slice(last + 1).some((step) => step !== 'request' && saying.includes(step.type))
}

function consumedMessage(id: string, text: string, image = false): DurableEvent {
  const images = image ? { images: [{ mediaType: 'image/png' as const, data: 'iVBORw0KGgo=' }] } : {}
  return { type: 'message', ...stamp, message: queueMessage.user({ id, text, ...images }) }
}

function consumed(...messageIds: string[]): DurableEvent {
  return { type: 'messages_consumed', ...stamp, messageIds }
}

function takeAll(pending: string[]): DurableEvent[] {
  return pending.length === 0 ? [] : [consumed(...pending.splice(0))]
}

type TurnHappening = Extract<Happening, { kind: 'turn' }>

function turnEvents({ text, calls, form }: TurnHappening, id: string, dialect: Dialect): DurableEvent[] {
  const callIds = calls.map((_, index) => `call${id}-${index}`)
  const provider = form === 'plain' ? {} : { provider: verbatim(dialect, id, text, callIds, form) }
  return [
    { type: 'assistant_text', ...stamp, text, ...provider },
    ...calls.map(
      ({ name, input, broken }, index): DurableEvent => ({
        type: 'tool_call',
        ...stamp,
        callId: `call${id}-${index}`,
        name,
        ...(broken ? { input: {}, invalidInput: '{"cut' } : { input }),
      }),
    ),
    { type: 'turn_completed', ...stamp, model: 'm', stopReason: 'end_turn', usage, costUsd: 0 },
  ]
}

/** What an adapter of this dialect would have kept of such an answer. */
function verbatim(dialect: Dialect, id: string, text: string, callIds: string[], form: 'thinking' | 'mixed'): unknown {
  const calls = callIds.map((callId, index) => ({
    callId,
    ...(dialect === 'openai-responses' && { id: `fc${id}-${index}` }),
  }))
  if (dialect === 'anthropic') {
    const thinking = { type: 'thinking', thinking: `Hm ${id}`, signature: 'recorded' }
    return {
      name: dialect,
      blocks:
        form === 'thinking'
          ? [thinking, { wholeText: true }, ...calls]
          : [{ type: 'text', text: text || 'x' }, thinking, ...calls, thinking],
    }
  }
  const reasoning = { id: `rs${id}`, type: 'reasoning', summary: [], encrypted_content: 'e' }
  const message = { wholeText: `msg${id}` }
  return { name: dialect, items: form === 'thinking' ? [reasoning, message, ...calls] : [...calls, reasoning, message] }
}

/** Results come in any order; some never come. */
function resultEvents({ calls, order }: TurnHappening, id: string): DurableEvent[] {
  const content: ToolContent[][] = [
    [],
    [{ type: 'text', text: '' }],
    [{ type: 'text', text: 'ok' }],
    [{ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }],
  ]
  const events = calls.map(
    (_, index): DurableEvent => ({
      type: 'tool_result',
      ...stamp,
      callId: `call${id}-${index}`,
      content: content[(order + index) % content.length] ?? [],
      isError: order % 2 === 0,
    }),
  )
  const rotated = [...events.slice(order % (events.length || 1)), ...events.slice(0, order % (events.length || 1))]
  return order === 5 ? rotated.slice(1) : rotated
}
