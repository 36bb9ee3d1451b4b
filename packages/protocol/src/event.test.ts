import { expect, test } from 'vitest'
import { DurableEvent, type Event, isPersistedByEmitEvent, LiveEvent } from './event.ts'

const durableTypes = DurableEvent.options.map((option) => option.shape.type.value)
const liveTypes = LiveEvent.options.map((option) => option.shape.type.value)

test('what is stored and what is only shown are the two unions, with no type in both', () => {
  const ofType = (type: string) => ({ type }) as Event

  for (const type of durableTypes) expect(isPersistedByEmitEvent(ofType(type)), type).toBe(true)
  for (const type of liveTypes) expect(isPersistedByEmitEvent(ofType(type)), type).toBe(false)
  expect(durableTypes.filter((type) => (liveTypes as string[]).includes(type))).toEqual([])
})

test('every event names its task and its moment', () => {
  const options = [...DurableEvent.options, ...LiveEvent.options]

  for (const { shape } of options) expect(shape).toMatchObject({ taskId: expect.anything(), ts: expect.anything() })
  expect(options).toHaveLength(33)
})

test('a streamed delta is not a fact and cannot be read back as one', () => {
  const delta = { type: 'text_delta', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text: 'Hel' }

  expect(LiveEvent.parse(delta)).toEqual(delta)
  expect(DurableEvent.safeParse(delta).success).toBe(false)
})

test('an event from JSON is refused with the field that is wrong', () => {
  const result = DurableEvent.safeParse({
    type: 'tool_result',
    taskId: 't',
    ts: 'yesterday',
    callId: 'c',
    content: [],
    isError: false,
  })

  expect(result.error?.issues.map((issue) => issue.path)).toEqual([['ts']])
})

test('an image in a tool result survives JSON', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
  const result: DurableEvent = {
    type: 'tool_result',
    taskId: 't',
    ts: '2026-01-01T00:00:00.000Z',
    callId: 'c',
    content: [image],
    isError: false,
  }

  expect(DurableEvent.parse(JSON.parse(JSON.stringify(result)))).toEqual(result)
})
