import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DurableEvent } from '../event.ts'
import { queueMessage } from '../queue-message.ts'
import { builtinTools, loopTools } from '../tool-names.ts'
import { isWaiting, resumeStateOf, unaskedQuestion } from './session-questions.ts'
import { foldSession, type SessionState } from './session-state.ts'

const numRuns = Number(process.env.MATRIX_PROPERTY_RUNS ?? 300)
const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }
const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }

test('a session folded in two parts is the session folded at once, also when the first part was kept as JSON', () => {
  fc.assert(
    fc.property(history, fc.nat(), ({ events }, at) => {
      const cut = at % (events.length + 1)
      const kept: SessionState = JSON.parse(JSON.stringify(foldSession(events.slice(0, cut))))

      expect(foldSession(events.slice(cut), kept)).toEqual(foldSession(events))
    }),
    { numRuns },
  )
})

test('what a compaction leaves of a session means the same as all of it', () => {
  fc.assert(
    fc.property(history, ({ events, active }) => {
      expect(meaningOf(foldSession(active))).toEqual(meaningOf(foldSession(events)))
    }),
    { numRuns },
  )
})

test('a legal session has no open call that was answered, and no pending message that was read', () => {
  fc.assert(
    fc.property(history, ({ events, open, pending }) => {
      const state = foldSession(events)

      expect(state.open.map(({ callId }) => callId)).toEqual(open)
      expect(state.pending.map(({ id }) => id)).toEqual(pending)
    }),
    { numRuns },
  )
})

/** What a conversation is continued by. What it has cost and which commands run is asked of the whole session. */
function meaningOf(state: SessionState) {
  const { phase, open, pending, question, hold, problem } = state
  const asks = { resume: resumeStateOf(state), isWaiting: isWaiting(state), unasked: unaskedQuestion(state) }
  return { ...asks, phase, open, pending, question, hold, problem }
}

type History = { events: DurableEvent[]; active: DurableEvent[]; open: string[]; pending: string[] }

const kinds = [
  ...(['hears', 'reads', 'withdraws', 'calls', 'yields', 'asks', 'asked', 'answered', 'returns'] as const),
  ...(['turns', 'compacts', 'fails', 'spends', 'stops', 'starts', 'ends', 'rewinds', 'forks'] as const),
]
type Kind = (typeof kinds)[number]
const history = fc.array(fc.constantFrom(...kinds), { maxLength: 40 }).map(tell)

/** Plays steps as a session would have them: what is read was sent, what is answered was called or asked. */
function tell(steps: readonly Kind[]): History {
  const history: History = { events: [], active: [], open: [], pending: [] }
  let last = 0
  let question: DurableEvent | undefined
  const next = () => `${++last}`
  const say = (...events: DurableEvent[]) => {
    history.events.push(...events)
    history.active.push(...events)
  }
  const call = (name: string, input: object) => {
    const callId = next()
    history.open.push(callId)
    say({ type: 'tool_call', ...stamp, callId, name, input })
  }
  const startOver = () => {
    const kept = history.active.filter(
      (event) => (event.type === 'message' && history.pending.includes(event.message.id)) || event === question,
    )
    history.open = []
    history.active = kept
  }
  const steady: Record<Kind, () => void> = {
    hears() {
      const id = next()
      history.pending.push(id)
      say({ type: 'message', ...stamp, message: queueMessage.user({ id, text: id }) })
    },
    reads: () => say({ type: 'messages_consumed', ...stamp, messageIds: history.pending.splice(0) }),
    withdraws: () => say({ type: 'messages_withdrawn', ...stamp, messageIds: history.pending.splice(0, 1) }),
    calls: () => call(builtinTools.bash, { command: 'serve', background: last % 2 === 0 }),
    yields: () => call(loopTools.yield, {}),
    asks: () => call(loopTools.clarify, { question: 'Which?' }),
    asked() {
      question = { type: 'clarification_requested', ...stamp, clarificationId: history.open.at(-1) ?? '', question: '' }
      say(question)
    },
    answered() {
      if (question?.type !== 'clarification_requested') return
      const { clarificationId } = question
      say({ type: 'clarification_answered', ...stamp, clarificationId, answer: '', by: 'timeout' })
      question = undefined
    },
    returns() {
      const [callId] = history.open.splice(0, 1)
      if (callId) say({ type: 'tool_result', ...stamp, callId, content: [], isError: false })
    },
    turns: () => say({ type: 'turn_completed', ...stamp, model: 'm', stopReason: 'end_turn', usage, costUsd: 0 }),
    compacts() {
      startOver()
      const marker: DurableEvent = { type: 'compact_marker', ...stamp, checkpoint: '' }
      history.events.push(marker)
      history.active.push(marker)
      say({ type: 'compacted_resume', ...stamp, text: '', ...(last % 2 === 0 && { idle: true }) })
    },
    fails: () => say({ type: 'error', ...stamp, code: 'INTERNAL', message: '' }),
    spends: () => say({ type: 'budget_exceeded', ...stamp, scope: 'task', costUsd: 1, budgetUsd: 1 }),
    stops: () =>
      say({ type: 'agent_stopped', ...stamp, reason: 'user' }, { type: 'orchestration_started', ...stamp, model: 'm' }),
    starts: () => say({ type: 'orchestration_started', ...stamp, model: 'm' }),
    ends() {
      question = undefined
      say({ type: 'orchestration_completed', ...stamp, exitReason: 'done_passed', output: '', costUsd: 0, turns: 1 })
    },
    rewinds() {
      history.open = []
      question = undefined
      say({ type: 'rewind_marker', ...stamp, upTo: history.events.length })
    },
    forks() {
      history.open = []
      question = undefined
      say({ type: 'fork_marker', ...stamp, sourceTaskId: 's', title: '', description: '', worktreePath: null })
    },
  }
  for (const step of steps) steady[step]()
  return history
}
