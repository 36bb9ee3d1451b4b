import { hash } from 'node:crypto'
import type { ToolContent } from '@matrix/protocol'
import type { ToolUse } from './provider-adapter.ts'

/** `warn`: tell the model. `stop`: it was told and goes on; a person has to look. */
export type LoopVerdict = { kind: 'fine' } | { kind: 'warn' | 'stop'; what: string }

export type LoopBreaker = {
  /** Takes note of one turn's calls and what they came to. */
  observeCalls(outcomes: { call: ToolUse; content: ToolContent[] }[]): LoopVerdict
  /** Takes note of a turn that had no effect but to wake the agent itself again, or to be cut and go on. */
  observeIdleTurn(what: string): LoopVerdict
  /** Somebody else spoke: whatever the agent does next, it does for a new reason. */
  reset(): void
}

const warnAt = 3
const stopAt = 5

/** Notices an agent that goes round in circles: the same calls with the same results, or two in turns. */
export function createLoopBreaker(): LoopBreaker {
  let recent: string[] = []
  let idleTurns = 0

  return {
    observeCalls(outcomes) {
      idleTurns = 0
      recent = [...recent.slice(-(2 * stopAt - 1)), signatureOf(outcomes)]
      const same = repetitions(recent, 1)
      if (same >= warnAt) return judge(same, `the same call with the same result ${same} times`)
      const pairs = repetitions(recent, 2)
      if (pairs >= warnAt) return judge(pairs, `the same two calls in turns ${pairs} times, with the same results`)
      return { kind: 'fine' }
    },
    observeIdleTurn(what) {
      idleTurns += 1
      return idleTurns >= warnAt ? judge(idleTurns, `${what} ${idleTurns} times`) : { kind: 'fine' }
    },
    reset() {
      recent = []
      idleTurns = 0
    },
  }
}

function judge(times: number, what: string): LoopVerdict {
  return { kind: times >= stopAt ? 'stop' : 'warn', what }
}

/** How often the last `period` entries stand at the end of the list, one after the other. */
function repetitions(entries: string[], period: number): number {
  const last = entries.slice(-period)
  let times = 0
  for (let end = entries.length; end >= period; end -= period) {
    if (last.some((entry, index) => entry !== entries[end - period + index])) break
    times += 1
  }
  return times
}

function signatureOf(outcomes: { call: ToolUse; content: ToolContent[] }[]): string {
  return hash('sha1', JSON.stringify(outcomes.map(({ call, content }) => [call.name, call.input, content])), 'base64')
}
