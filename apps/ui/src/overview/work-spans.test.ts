import type { SessionEvent } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { addToLog, emptyLog } from './work-spans.ts'

test('events that follow one another are one span, and a long silence ends it', () => {
  const log = addToLog(
    emptyLog,
    events(['assistant_text', 0], ['turn_completed', 20], ['assistant_text', 200], ['turn_completed', 210]),
  )

  expect(log.spans).toEqual([
    { startMs: 0, endMs: 20_000, turns: 1 },
    { startMs: 200_000, endMs: 210_000, turns: 1 },
  ])
})

test('read in two parts it is the same as read at once', () => {
  const all = events(['assistant_text', 0], ['turn_completed', 30], ['tool_call', 80], ['turn_completed', 400])

  expect(addToLog(addToLog(emptyLog, all.slice(0, 2)), all.slice(2))).toEqual(addToLog(emptyLog, all))
})

test('a message that lies there is no work', () => {
  expect(addToLog(emptyLog, events(['message', 0])).spans).toEqual([])
})

test('what was done before a fork was done by another agent', () => {
  expect(addToLog(emptyLog, events(['assistant_text', 0], ['fork_marker', 10], ['assistant_text', 20])).spans).toEqual([
    { startMs: 20_000, endMs: 20_000, turns: 0 },
  ])
})

function events(...list: [type: string, seconds: number][]): SessionEvent[] {
  return list.map(([type, seconds], index) => ({
    seq: index + 1,
    event: { type, taskId: 't', ts: new Date(seconds * 1000).toISOString() },
  }))
}
