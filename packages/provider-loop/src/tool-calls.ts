import type { Event, ToolContent } from '@matrix/protocol'
import type { ToolUse } from './provider-adapter.ts'
import { interrupt, type Run, record } from './run.ts'
import { executeTool, type ToolExecResult, textResult } from './tools.ts'
import { heedBreaker } from './waiting.ts'

type Outcome = { call: ToolUse; result: ToolExecResult }

/** Runs all calls of a turn at once and records each result as it comes. A call that waits stays open. */
export async function* callTools(run: Run, calls: ToolUse[]): AsyncGenerator<Event, void> {
  const finished: { call: ToolUse; content: ToolContent[] }[] = []
  for await (const { call, result } of settle(run, calls)) {
    if (result.control?.kind === 'wait') {
      const { question } = result.control
      if (question) yield record(run, { type: 'clarification_requested', clarificationId: call.callId, ...question })
      continue
    }
    const { content, isError, origin, background } = result
    finished.push({ call, content })
    const kept = { ...(origin && { origin }), ...(background && { background }) }
    yield record(run, { type: 'tool_result', callId: call.callId, content, isError, ...kept })
    if (result.control?.kind === 'exit')
      run.exit ??= { exitReason: result.control.exitReason, output: result.control.output }
  }
  if (run.signal.aborted) return interrupt(run, 'The agent was stopped.')
  if (!run.exit && finished.length > 0) yield* heedBreaker(run, run.breaker.observeCalls(inOrder(calls, finished)))
}

/** How long the calls of an agent that is stopped may take to say what they did until then. */
const ENDING_MS = 3000

/** Results in the order they arrive, until all are there or the agent was stopped and its calls have had time to end. */
async function* settle(run: Run, calls: ToolUse[]): AsyncGenerator<Outcome> {
  const arrived: Outcome[] = []
  const clock = new AbortController()
  let isOver = false
  let wake = () => {}
  for (const call of calls)
    void runCall(run, call).then((result) => {
      arrived.push({ call, result })
      wake()
    })
  const abort = async () => {
    await run.ports.sleep(ENDING_MS, clock.signal)
    isOver = true
    wake()
  }
  run.signal.addEventListener('abort', abort)
  if (run.signal.aborted) void abort()
  try {
    for (let open = calls.length; open > 0; ) {
      const outcome = arrived.shift()
      if (outcome) {
        open -= 1
        yield outcome
      } else if (isOver) return
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  } finally {
    clock.abort()
    run.signal.removeEventListener('abort', abort)
  }
}

function runCall(run: Run, { callId, name, input, invalidInput }: ToolUse): Promise<ToolExecResult> {
  if (invalidInput === undefined)
    return executeTool(name, input, run.handlers, { toolCallId: callId, signal: run.signal })
  const shown = invalidInput.length > 500 ? `${invalidInput.slice(0, 500)}…` : invalidInput
  return Promise.resolve(
    textResult(
      `The arguments are not a JSON object, so ${name} was not run. Write them again, in smaller pieces if they were cut off. They were: ${shown}`,
      true,
    ),
  )
}

function inOrder<Item extends { call: ToolUse }>(calls: ToolUse[], items: Item[]): Item[] {
  return items.toSorted((a, b) => calls.indexOf(a.call) - calls.indexOf(b.call))
}
