import { builtinTools, type DurableEvent, loopTools, queueMessage } from '@matrix/protocol'
import { applyEvent, emptySession, foldSession } from '@matrix/protocol/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromEarlier } from './earlier-event.ts'
import { parseHeads } from './event-head.ts'
import { formatHeader, formatLine } from './line.ts'

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }

test('what is long is left out, and what the summary needs is there', () => {
  const batch = parse(
    { type: 'assistant_text', ...stamp, text: 'hello' },
    { type: 'tool_call', ...stamp, callId: 'c1', name: 'mcp__mxd__bash', input: { callId: 'not this one' } },
    { type: 'tool_result', ...stamp, callId: 'c1', content: [{ type: 'text', text: '"callId":"c2"' }], isError: false },
  )

  expect(batch.events).toEqual([
    { type: 'assistant_text', ts: stamp.ts },
    { type: 'tool_call', ts: stamp.ts, callId: 'c1', name: 'mcp__mxd__bash' },
    { type: 'tool_result', ts: stamp.ts, callId: 'c1' },
  ])
})

test('what a summary needs of a background command is there, also from a session of an earlier version', () => {
  const call = (callId: string): DurableEvent => ({
    ...{ type: 'tool_call', ...stamp, callId, name: builtinTools.bash },
    input: { command: 'serve', background: true },
  })
  const result = { type: 'tool_result' as const, ...stamp }
  const { events } = parse(
    ...[call('c1'), call('c2'), call('c3')],
    { ...result, callId: 'c1', background: { processId: 'bg_1' }, content: [], isError: false },
    {
      ...result,
      callId: 'c2',
      content: [{ type: 'text', text: 'Started in the background as bg_2.' }],
      isError: false,
    },
    { ...result, callId: 'c3', content: [], isError: false, background: { processId: 'bg_3' } },
  )

  expect(foldSession(events).commands.map(({ processId }) => processId)).toEqual(['bg_1', 'bg_2', 'bg_3'])
})

test('the place of the last line and its sum are what a reader continues from', () => {
  const { bytes, sum } = fileOf([{ type: 'assistant_text', ...stamp, text: 'hello' }])

  expect(parseHeads({ bytes, start: 0, end: bytes.byteLength, offset: 1000 })).toMatchObject({
    seq: 1,
    sum,
    end: 1000 + bytes.byteLength,
  })
})

test('whatever an event holds and in whichever order, its summary is the same as from all of it', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', '","callId":"x"', 'é'))
  const id = fc.oneof(text, fc.constantFrom('c1', 'c2'))
  const name = fc.oneof(text, fc.constantFrom(loopTools.done, loopTools.clarify, builtinTools.bash))
  const input = fc.oneof(text, fc.record({ command: text, background: fc.boolean(), question: text }))
  const inWords = fc.constant([{ type: 'text', text: 'Started in the background as bg_1.' }])
  const background = fc.record({ processId: text })
  const event = fc.oneof(
    fc.record({ type: fc.constant('tool_call'), taskId: text, ts: text, callId: id, name, input }),
    fc.record({ type: fc.constant('tool_call'), name, callId: id, ts: text, taskId: text, input }),
    fc.record({ type: fc.constant('tool_result'), taskId: text, ts: text, callId: id, content: fc.constant([]) }),
    fc.record({ type: fc.constant('tool_result'), taskId: text, ts: text, callId: id, content: text, background }),
    fc.record({ type: fc.constant('tool_result'), taskId: text, ts: text, callId: id, content: inWords }),
    fc.record({ type: fc.constant('tool_result'), taskId: text, ts: text, callId: id, background, content: text }),
    fc.record({ type: fc.constant('assistant_text'), text, taskId: text, ts: text }),
    fc.constant({ type: 'message', ...stamp, message: queueMessage.user({ id: 'm', text: 'hi' }) }),
    fc.constant({ type: 'from_the_future', ...stamp, of: { type: 'tool_call' } }),
  ) as unknown as fc.Arbitrary<DurableEvent>

  fc.assert(
    fc.property(fc.array(event, { maxLength: 10 }), (events) => {
      const heads = parse(...events).events as DurableEvent[]
      const stored = events.map((one) => fromEarlier(JSON.parse(JSON.stringify(one))))
      expect(heads.map(({ type, ts }) => [type, ts])).toEqual(stored.map(({ type, ts }) => [type, ts]))
      expect(heads.reduce(applyEvent, emptySession)).toEqual(stored.reduce(applyEvent, emptySession))
    }),
    { numRuns: 300 },
  )
})

test('a line that is not JSON ends the batch before it', () => {
  const { bytes } = fileOf([{ type: 'assistant_text', ...stamp, text: 'hello' }])
  const broken = Buffer.concat([bytes, Buffer.from('{"seq":2,"eve\n')])

  expect(parseHeads({ bytes: broken, start: 0, end: broken.byteLength, offset: 0 }).events).toHaveLength(1)
})

function parse(...events: DurableEvent[]) {
  const { bytes } = fileOf(events)
  return parseHeads({ bytes, start: 0, end: bytes.byteLength, offset: 0 })
}

function fileOf(events: DurableEvent[]): { bytes: Buffer; sum: string } {
  const header = formatHeader({ seq: 0, format: 'matrix-session', v: 1, sessionId: 's', createdAt: stamp.ts })
  let { line: text, sum } = header
  events.forEach((event, index) => {
    const next = formatLine({ seq: index + 1, more: events.length - 1 - index }, JSON.stringify(event), sum)
    text += next.line
    sum = next.sum
  })
  return { bytes: Buffer.from(text), sum }
}
