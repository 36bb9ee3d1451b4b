import { expect, test } from 'vitest'
import { DurableEvent } from '../event.ts'
import { queueMessage } from '../queue-message.ts'
import { builtinTools, loopTools } from '../tool-names.ts'
import { applyEvent, emptySession, foldSession, type SessionState } from './session-state.ts'

const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }
const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 }
const first = queueMessage.user({ id: 'm1', text: 'Go' })
const asked = { type: 'clarification_requested' as const, ...stamp, clarificationId: 'q', question: 'Which?' }
const fault = { type: 'error' as const, ...stamp, code: 'INTERNAL', message: 'Broken' }
const budget = { ...stamp, scope: 'task' as const, costUsd: 2, budgetUsd: 1 }
const starts = { id: 't/b/2026-01-01T00:00:00.000Z/ended', command: 'serve' }
const clarify = { callId: 'q', name: loopTools.clarify, ts: stamp.ts, input: { question: 'Which?' } }
const bash = { callId: 'b', name: builtinTools.bash, ts: stamp.ts, starts }

/** A session in which everything is set that an event could change. */
const full: SessionState = {
  phase: 'new',
  isStarted: false,
  open: [clarify, bash],
  pending: [first],
  read: ['m0'],
  question: asked,
  hold: 'user',
  problem: fault,
  commands: [{ id: 'old', processId: 'bg0', command: 'watch' }],
  end: { exitReason: 'done_failed', output: 'No.' },
  usage,
}

type Row = { event: Omit<DurableEvent, 'type'>; changes: Partial<SessionState> }
const settled = { problem: undefined }
const rows: { [Type in DurableEvent['type']]: { event: Omit<Extract<DurableEvent, { type: Type }>, 'type'> } & Row } = {
  message: {
    event: { ...stamp, message: queueMessage.user({ id: 'm2', text: 'Now' }) },
    changes: { pending: [first, queueMessage.user({ id: 'm2', text: 'Now' })], hold: undefined },
  },
  messages_consumed: {
    event: { ...stamp, messageIds: ['m1'] },
    changes: { ...settled, phase: 'working', pending: [], read: ['m0', 'm1'] },
  },
  messages_withdrawn: {
    event: { ...stamp, messageIds: ['m1'] },
    changes: { ...settled, pending: [], read: ['m0', 'm1'] },
  },
  assistant_text: { event: { ...stamp, text: 'Hm' }, changes: { ...settled, phase: 'working' } },
  tool_call: {
    event: { ...stamp, callId: 'r', name: builtinTools.readFile, input: { path: 'a' } },
    changes: {
      ...{ ...settled, phase: 'working' },
      open: [clarify, bash, { callId: 'r', name: builtinTools.readFile, ts: stamp.ts }],
    },
  },
  tool_result: {
    event: { ...stamp, callId: 'b', background: { processId: 'bg1' }, content: [], isError: false },
    changes: {
      ...{ ...settled, phase: 'working', open: [clarify] },
      commands: [...full.commands, { ...starts, processId: 'bg1' }],
    },
  },
  turn_completed: {
    event: { ...stamp, model: 'm', stopReason: 'end_turn', usage, costUsd: 1 },
    changes: {
      ...{ ...settled, phase: 'waiting' },
      usage: { inputTokens: 2, outputTokens: 4, cacheReadTokens: 6, cacheWriteTokens: 8 },
    },
  },
  compact_started: {
    event: { ...stamp, reason: 'manual', tokens: 1 },
    changes: { ...settled, phase: 'working' },
  },
  summarization_request: { event: { ...stamp, text: 'Compact' }, changes: { ...settled, phase: 'working' } },
  compact_marker: {
    event: { ...stamp, checkpoint: '' },
    changes: { ...settled, phase: 'working', isStarted: true, open: [], read: [] },
  },
  compacted_resume: { event: { ...stamp, text: 'As before', idle: true }, changes: { ...settled, phase: 'waiting' } },
  notice: { event: { ...stamp, text: 'You repeat yourself' }, changes: settled },
  orchestration_started: {
    event: { ...stamp, model: 'm' },
    changes: { ...settled, phase: 'working', hold: undefined },
  },
  orchestration_completed: {
    event: { ...stamp, exitReason: 'done_passed', output: 'Yes.', costUsd: 1, turns: 1 },
    changes: { ...settled, phase: 'ended', question: undefined, end: { exitReason: 'done_passed', output: 'Yes.' } },
  },
  task_started: {
    event: { ...stamp, title: 'T', branch: 'b', worktreePath: '/w' },
    changes: { ...settled, phase: 'working', isStarted: true },
  },
  clarification_requested: {
    event: { ...stamp, clarificationId: 'q', question: 'Which one?' },
    changes: {
      ...{ ...settled, question: { ...asked, question: 'Which one?' } },
      open: [{ ...clarify, isAsked: true }, bash],
    },
  },
  clarification_answered: {
    event: { ...stamp, clarificationId: 'q', answer: 'a', by: 'user' },
    changes: { ...settled, question: undefined, hold: undefined },
  },
  fork_marker: {
    event: { ...stamp, sourceTaskId: 's', title: 'T', description: '', worktreePath: null },
    changes: {
      ...emptySession,
      ...settled,
      pending: [first],
      read: ['m0'],
      question: undefined,
      hold: undefined,
      end: undefined,
    },
  },
  rewind_marker: {
    event: { ...stamp, upTo: 1 },
    changes: { ...settled, phase: 'new', open: [], read: [], question: undefined },
  },
  budget_warning: { event: budget, changes: settled },
  budget_exceeded: { event: budget, changes: { problem: { type: 'budget_exceeded', ...budget } } },
  session_config: { event: { ...stamp, provider: 'p', model: 'm', systemPrompt: '', tools: [] }, changes: {} },
  config_requested: { event: { ...stamp, by: 'user' }, changes: {} },
  error: {
    event: { ...stamp, code: 'STORAGE_FULL', message: 'Full' },
    changes: { problem: { type: 'error', ...stamp, code: 'STORAGE_FULL', message: 'Full' } },
  },
  agent_resumed: { event: { ...stamp, by: 'user' }, changes: { ...settled, hold: undefined } },
  agent_stopped: { event: { ...stamp, reason: 'reset' }, changes: { ...settled, hold: 'reset' } },
}

test.each(Object.entries(rows))('%s changes what it says and nothing else', (type, { event, changes }) => {
  const given = deepFreeze(DurableEvent.parse({ type, ...event }))
  const before = deepFreeze(structuredClone(full))

  expect(applyEvent(before, given)).toEqual({ ...full, ...changes })
})

test('an event of a later version changes nothing but that a problem is over', () => {
  const event = { type: 'from_the_future', ...stamp } as unknown as DurableEvent

  expect(applyEvent(full, event)).toEqual({ ...full, problem: undefined })
})

test.each([
  ['user', 'user', false],
  ['compact', 'user', false],
  ['task_message', 'user', true],
  ['task_message', 'reset', false],
  ['cross_project', 'reset', false],
  ['tree_change', 'reset', true],
  ['background_complete', 'reset', true],
] as const)('a message from %s to a task that %s stopped leaves it stopped: %s', (source, reason, stays) => {
  const stopped = foldSession([{ type: 'agent_stopped', ...stamp, reason }])
  const message = { source, id: 'm', text: '', content: '' } as unknown as typeof first

  expect(applyEvent(stopped, { type: 'message', ...stamp, message }).hold).toBe(stays ? reason : undefined)
})

test('an answer that timed out leaves a stopped task stopped', () => {
  const events: DurableEvent[] = [
    asked,
    { type: 'agent_stopped', ...stamp, reason: 'by hand' },
    { type: 'clarification_answered', ...stamp, clarificationId: 'q', answer: '', by: 'timeout' },
  ]

  expect(foldSession(events)).toMatchObject({ hold: 'user', question: undefined })
})

test('a background command is open from its result until the message about its end', () => {
  const call: DurableEvent = {
    ...{ type: 'tool_call', ...stamp, callId: 'b', name: builtinTools.bash },
    input: { command: 'serve', background: true },
  }
  const result: DurableEvent = { type: 'tool_result', ...stamp, callId: 'b', content: [], isError: false }
  const running = foldSession([call, { ...result, background: { processId: 'bg1' } }])
  const message = { ...starts, processId: 'bg1', exitCode: 0, output: '' }
  const told = queueMessage.backgroundComplete(message)

  expect(running.commands).toEqual([{ ...starts, processId: 'bg1' }])
  expect(applyEvent(running, { type: 'message', ...stamp, message: told }).commands).toEqual([])
  // It failed to start.
  expect(foldSession([call, result]).commands).toEqual([])
})

test('a call id that is used again is one call, the last one', () => {
  const call = (ts: string): DurableEvent => ({ type: 'tool_call', ...stamp, ts, callId: '1', name: 'n', input: {} })
  const events = [call('a'), { ...call('b'), callId: '0' } as DurableEvent, call('c')]

  expect(foldSession(events).open.map(({ callId, ts }) => [callId, ts])).toEqual([
    ['0', 'b'],
    ['1', 'c'],
  ])
})

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}
