import { expect, test } from 'vitest'
import type { DurableEvent } from '../event.ts'
import { queueMessage } from '../queue-message.ts'
import { loopTools } from '../tool-names.ts'
import { findOrphanedToolCalls, findPendingMessages, findResumeState } from './session-questions.ts'

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }
const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

test('a call without a result is orphaned, in the order of the calls', () => {
  const events = [called('a'), called('b'), called('c'), answered('b')]

  expect(findOrphanedToolCalls(events).map(({ callId }) => callId)).toEqual(['a', 'c'])
})

test('a message is pending until it is consumed, and never again', () => {
  const events = [message('m1'), message('m2'), consumed('m1'), message('m1'), message('m3'), message('m3')]

  expect(findPendingMessages(events).map(({ id }) => id)).toEqual(['m2', 'm3'])
})

test.each<[string, DurableEvent[], string]>([
  ['nothing was ever said', [], 'new'],
  ['messages wait and nothing was said', [message('m1')], 'new'],
  ['it was forked and not started', [said('old'), completed('end_turn'), forked()], 'new'],
  ['it was taken back', [called('a'), completed('tool_use'), rewound(1)], 'new'],
  ['its last turn asked for nothing', [consumed('m1'), said('hello'), completed('end_turn')], 'yielding'],
  ['it yielded', [said('waiting'), called('y', loopTools.yield), completed('tool_use')], 'yielding'],
  [
    'it yielded beside a call that was answered',
    [called('a'), called('y', loopTools.yield), answered('a')],
    'yielding',
  ],
  ['its answer ran out of tokens', [said('and then'), completed('max_tokens')], 'interrupted'],
  ['a call was cut off', [called('a'), completed('tool_use')], 'interrupted'],
  ['a call was cut off beside a yield', [called('a'), called('y', loopTools.yield)], 'interrupted'],
  ['results wait for the model', [called('a'), completed('tool_use'), answered('a')], 'interrupted'],
  ['a message was consumed and not answered', [said('hi'), completed('end_turn'), consumed('m1')], 'interrupted'],
  ['it was cut off while it compacted', [said('hi'), completed('end_turn'), compacting()], 'interrupted'],
  ['it was compacted in the middle of its work', [compacting(), resumed(false)], 'interrupted'],
  ['it was compacted while it waited', [compacting(), resumed(true)], 'yielding'],
  ['it heard something after it was compacted', [compacting(), resumed(true), consumed('m1')], 'interrupted'],
  ['it called done', [called('d', loopTools.done), answered('d'), ended('done_passed')], 'done'],
  [
    'it called yield beside done',
    [called('y', loopTools.yield), called('d', loopTools.done), answered('d'), ended('done_passed')],
    'done',
  ],
  ['it failed by its own word', [ended('done_failed')], 'done'],
  ['it was interrupted', [ended('interrupted')], 'interrupted'],
  ['it was stopped while parked', [said('hi'), completed('end_turn'), stopped()], 'yielding'],
  ['it was started again after it was done', [ended('done_passed'), consumed('m2')], 'interrupted'],
  ['a message came after it was done', [ended('done_passed'), message('m2')], 'done'],
])('when %s', (_, events, state) => {
  expect(findResumeState(events)).toBe(state)
})

function said(text: string): DurableEvent {
  return { type: 'assistant_text', ...stamp, text }
}
function called(callId: string, name = 'n'): DurableEvent {
  return { type: 'tool_call', ...stamp, callId, name, input: {} }
}
function answered(callId: string): DurableEvent {
  return { type: 'tool_result', ...stamp, callId, content: [], isError: false }
}
function message(id: string): DurableEvent {
  return { type: 'message', ...stamp, message: queueMessage.user({ id, text: id }) }
}
function consumed(...messageIds: string[]): DurableEvent {
  return { type: 'messages_consumed', ...stamp, messageIds }
}
function completed(stopReason: string): DurableEvent {
  return { type: 'turn_completed', ...stamp, model: 'm', stopReason, usage, costUsd: 0 }
}
function ended(exitReason: string): DurableEvent {
  return { type: 'orchestration_completed', ...stamp, exitReason, output: '', costUsd: 0, turns: 1 }
}
function compacting(): DurableEvent {
  return { type: 'compact_started', ...stamp, reason: 'manual', tokens: 1 }
}
function resumed(idle: boolean): DurableEvent {
  return { type: 'compacted_resume', ...stamp, text: 'as before', requests: [], ...(idle && { idle }) }
}
function stopped(): DurableEvent {
  return { type: 'agent_stopped', ...stamp, reason: 'by hand' }
}
function rewound(upTo: number): DurableEvent {
  return { type: 'rewind_marker', ...stamp, upTo }
}
function forked(): DurableEvent {
  return { type: 'fork_marker', ...stamp, sourceTaskId: 's', title: '', description: '', worktreePath: null }
}
