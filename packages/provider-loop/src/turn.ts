import { type ErrorCode, type Event, errors } from '@matrix/protocol'
import type { BudgetState, Reservation } from './budget.ts'
import { totalTokens } from './conversation.ts'
import { type Failure, readFailure, retryDelayMs } from './failure.ts'
import { affordableOutput, highestPrice } from './pricing.ts'
import type { ApiCall, ProviderResponse } from './provider-adapter.ts'
import { interrupt, type Run, record, stamp, takeRoute, timestamp, type UnstampedDurable } from './run.ts'
import { configOf } from './start.ts'
import { currentToolName } from './tool-name-aliases.ts'
import { heedBreaker } from './waiting.ts'

/**
 * One answer from the model: the money for it set aside, the call made, and what came back recorded as one batch
 * that ends with `turn_completed`. Without an answer the agent is parked, or the run is over.
 */
export async function* takeTurn(run: Run, { quiet = false } = {}): AsyncGenerator<Event, ProviderResponse | undefined> {
  yield* checkLimits(run)
  if (run.exit) return
  const reservation = yield* reserveMoney(run)
  if (!reservation) return

  const spentBefore = run.costUsd
  let answer: ProviderResponse | undefined
  let state: BudgetState
  try {
    answer = yield* askModel(run, maxOutput(run, reservation), quiet)
    if (answer) run.costUsd += costOf(run, answer)
  } finally {
    state = reservation.settle(run.costUsd - spentBefore)
  }
  if (answer) yield* recordAnswer(run, answer)
  yield* warnOfBudget(run, state, run.costUsd - spentBefore)
  return answer
}

function costOf({ route: { adapter }, pricing }: Run, answer: ProviderResponse): number {
  return adapter.computeCost(adapter.getTokenUsage(answer), pricing)
}

function* checkLimits(run: Run): Generator<Event> {
  const { maxTurns, maxTokens, maxDurationMs } = run.limits
  const reached =
    (maxTurns !== undefined && run.turns >= maxTurns && `${maxTurns} turns`) ||
    (maxTokens !== undefined && run.tokens >= maxTokens && `${maxTokens} tokens`) ||
    (maxDurationMs !== undefined && run.ports.now() - run.startedAt >= maxDurationMs && `${maxDurationMs} ms`)
  if (!reached) return
  yield fail(run, 'LIMIT_REACHED', `The run reached its limit of ${reached}.`)
  interrupt(run, `The run reached its limit of ${reached}.`)
}

async function* reserveMoney(run: Run): AsyncGenerator<Event, Reservation | undefined> {
  const wanted = highestPrice(run.conversation.contextTokens(), run.maxOutputTokens, run.pricing)
  const reservation = await run.budget.reserve(wanted, run.signal)
  if (!reservation.refused) return reservation
  const { scope, costUsd, budgetUsd } = reservation
  yield record(run, { type: 'budget_exceeded', scope, costUsd, budgetUsd })
  interrupt(run, `The budget of the ${scope}, $${budgetUsd}, is used up.`)
  return undefined
}

const leastOutputTokens = 1024

/** What is left of the budget may be less than the longest answer would cost. */
function maxOutput(run: Run, { grantedUsd }: Reservation): number {
  if (!run.pricing) return run.maxOutputTokens
  const affordable = affordableOutput(grantedUsd, run.conversation.contextTokens(), run.pricing)
  return Math.min(run.maxOutputTokens, Math.max(leastOutputTokens, affordable))
}

function* warnOfBudget(run: Run, state: BudgetState, costUsd: number): Generator<Event> {
  const line = state.budgetUsd * 0.8
  if (state.costUsd >= line && state.costUsd - costUsd < line) yield record(run, { type: 'budget_warning', ...state })
}

/** Asks until there is a whole answer: again after a while, then elsewhere, and when nothing helps, gives up. */
async function* askModel(
  run: Run,
  maxOutputTokens: number,
  quiet: boolean,
): AsyncGenerator<Event, ProviderResponse | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run.route.adapter.callAPI(apiCall(run, maxOutputTokens), (text) => {
        if (!quiet) run.say({ type: 'text_delta', taskId: run.taskId, ts: timestamp(run), text })
      })
    } catch (error) {
      const failure = readFailure(error)
      yield* recordLoss(run, failure)
      if (run.signal.aborted) return stopped(run)
      const delayMs = nextDelay(run, attempt, failure, error)
      if (delayMs !== undefined) {
        yield stamp(run, { type: 'status', text: retryText(run, failure, attempt, delayMs) })
        await run.ports.sleep(delayMs, run.signal)
        if (run.signal.aborted) return stopped(run)
      } else if (yield* changeRoute(run, failure)) attempt = 0
      else return yield* giveUp(run, failure)
    }
  }
}

function stopped(run: Run): undefined {
  interrupt(run, 'The agent was stopped.')
}

export function apiCall(run: Run, maxOutputTokens: number): ApiCall {
  return {
    model: run.route.model,
    prepared: run.prepared,
    messages: run.conversation.messages(),
    maxOutputTokens,
    sessionId: run.sessionId,
    signal: run.signal,
  }
}

/** An answer that broke off was paid for as far as it came. */
function* recordLoss(run: Run, { usage }: Failure): Generator<Event> {
  if (!usage) return
  const { adapter, model } = run.route
  const costUsd = adapter.computeCost(usage, run.pricing)
  run.costUsd += costUsd
  run.tokens += totalTokens(usage)
  yield record(run, { type: 'turn_completed', model, stopReason: 'failed', usage, costUsd })
}

function nextDelay(run: Run, attempt: number, failure: Failure, error: unknown): number | undefined {
  if (failure.remedy !== 'retry' || attempt >= run.retry.attempts) return undefined
  return (
    run.route.adapter.getOuterRetryDelayMs?.(attempt, error) ??
    retryDelayMs(attempt, failure, run.retry, run.ports.random)
  )
}

function retryText(run: Run, { message }: Failure, attempt: number, delayMs: number): string {
  const seconds = (delayMs / 1000).toFixed(1)
  return `${run.route.adapter.name} did not answer (${message}); asking again in ${seconds} s, attempt ${attempt + 1} of ${run.retry.attempts}.`
}

/** Goes on with the next provider in the list, with the whole conversation in its words. */
async function* changeRoute(run: Run, failure: Failure): AsyncGenerator<Event, boolean> {
  const next =
    run.routes[
      run.routes.findIndex(({ adapter, model }) => adapter === run.route.adapter && model === run.route.model) + 1
    ]
  const config = run.conversation.config()
  if (failure.remedy === 'final' || !next || !config) return false
  yield stamp(run, {
    type: 'status',
    text: `${run.route.adapter.name} ${run.route.model} cannot go on (${failure.message}); changing to ${next.adapter.name} ${next.model}.`,
  })
  await takeRoute(run, next, config)
  yield record(run, configOf(next, config))
  return true
}

function* giveUp(run: Run, failure: Failure): Generator<Event, undefined> {
  if (failure.contextExceeded)
    yield fail(run, 'CONTEXT_EXCEEDED', `The conversation is too long for ${run.route.model}: ${failure.message}`)
  else
    yield fail(
      run,
      'PROVIDER_FAILED',
      `${run.route.adapter.name} ${run.route.model} does not answer: ${failure.message}`,
    )
}

function* recordAnswer(run: Run, answer: ProviderResponse): Generator<Event> {
  const { adapter } = run.route
  const usage = adapter.getTokenUsage(answer)
  const stopReason = adapter.getStopReason(answer)
  const costUsd = costOf(run, answer)
  run.turns += 1
  run.tokens += totalTokens(usage)

  for (const event of adapter.buildResponseEvents(answer)) yield record(run, withUri(run, event))
  yield record(run, { type: 'turn_completed', model: answer.model, stopReason, usage, costUsd })
  yield stamp(run, {
    type: 'usage',
    model: answer.model,
    usage,
    costUsd: run.costUsd,
    contextTokens: totalTokens(usage),
  })

  if (stopReason === 'refusal') yield fail(run, 'PROVIDER_REFUSED', `${answer.model} refused to answer.`)
  if (stopReason === 'context_exceeded')
    yield fail(run, 'CONTEXT_EXCEEDED', `${answer.model} ran out of context in the middle of its answer.`)
  if (stopReason === 'max_tokens' && answer.calls.length === 0) yield* goOn(run)
}

function withUri({ handlers }: Run, event: UnstampedDurable): UnstampedDurable {
  if (event.type !== 'tool_call') return event
  const uri = handlers.get(currentToolName(event.name))?.uri
  return uri === undefined ? event : { ...event, uri }
}

function* goOn(run: Run): Generator<Event> {
  yield record(run, {
    type: 'notice',
    text: '[Matrix] Your answer was cut at the output limit. Go on where it stopped, in smaller pieces.',
  })
  yield* heedBreaker(run, run.breaker.observeIdleTurn('your answer was cut at the output limit'))
}

function fail(run: Run, code: ErrorCode, message: string): Event {
  return record(run, { type: 'error', code, message, hint: errors[code].hint })
}
