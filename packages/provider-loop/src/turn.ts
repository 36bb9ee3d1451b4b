import {
  addSpent,
  type BudgetState,
  type ErrorCode,
  type Event,
  errors,
  type Spent,
  type TokenUsage,
} from '@matrix/protocol'
import { formatAmount } from '@matrix/protocol/display'
import type { Reservation } from './budget.ts'
import { totalTokens } from './conversation.ts'
import { type Failure, readFailure, retryDelayMs } from './failure.ts'
import { nearestModels } from './known-models.ts'
import { affordableOutput, highestPrice } from './pricing.ts'
import type { ApiCall, ProviderResponse } from './provider-adapter.ts'
import { interrupt, type Run, readMeter, record, stamp, takeRoute, timestamp, type UnstampedDurable } from './run.ts'
import { configOf } from './start.ts'
import { currentToolName } from './tool-name-aliases.ts'
import { heedBreaker } from './waiting.ts'

/**
 * One answer from the model: its share of every budget set aside, the call made, and what came back recorded as one batch
 * that ends with `turn_completed`. Without an answer the agent is parked, or the run is over.
 */
export async function* takeTurn(run: Run, { quiet = false } = {}): AsyncGenerator<Event, ProviderResponse | undefined> {
  yield* checkLimits(run)
  if (run.exit) return
  const reservation = yield* reserveBudget(run)
  if (!reservation) return

  const before = run.spent
  let answer: ProviderResponse | undefined
  let metered: Metered | undefined
  let budgets: BudgetState[]
  try {
    answer = yield* askModel(run, maxOutput(run, reservation), quiet)
    if (answer) metered = meter(run, run.route.adapter.getTokenUsage(answer))
  } finally {
    budgets = reservation.settle(difference(run.spent, before))
  }
  if (answer && metered) yield* recordAnswer(run, answer, metered)
  yield* warnOfBudgets(run, budgets, difference(run.spent, before))
  return answer
}

/** What a turn took, as it stands in its event. */
type Metered = { costUsd: number; workMs: number; isUnpriced?: true }

/** Adds a turn to what the run has spent. */
function meter(run: Run, usage: TokenUsage): Metered {
  const { adapter } = run.route
  const costUsd = adapter.computeCost(usage, run.pricing)
  const workMs = readMeter(run)
  const unpricedTurns = run.pricing ? 0 : 1
  const turn = { usd: costUsd, tokens: totalTokens(usage), minutes: workMs / 60_000, unpricedTurns }
  run.spent = addSpent(run.spent, turn)
  return { costUsd, workMs, ...(!run.pricing && { isUnpriced: true as const }) }
}

function difference(after: Spent, before: Spent): Spent {
  return {
    usd: after.usd - before.usd,
    tokens: after.tokens - before.tokens,
    minutes: after.minutes - before.minutes,
    unpricedTurns: after.unpricedTurns - before.unpricedTurns,
  }
}

function* checkLimits(run: Run): Generator<Event> {
  const { maxTurns, maxTokens, maxDurationMs } = run.limits
  const reached =
    (maxTurns !== undefined && run.turns >= maxTurns && `${maxTurns} turns`) ||
    (maxTokens !== undefined && run.spent.tokens >= maxTokens && `${maxTokens} tokens`) ||
    (maxDurationMs !== undefined && run.ports.now() - run.startedAt >= maxDurationMs && `${maxDurationMs} ms`)
  if (!reached) return
  yield fail(run, 'LIMIT_REACHED', `The run reached its limit of ${reached}.`)
  interrupt(run, `The run reached its limit of ${reached}.`)
}

async function* reserveBudget(run: Run): AsyncGenerator<Event, Reservation | undefined> {
  const prompt = run.conversation.contextTokens()
  const reservation = await run.budget.reserve(
    {
      usd: run.pricing && highestPrice(prompt, run.maxOutputTokens, run.pricing),
      tokens: prompt + run.maxOutputTokens,
      // How long a turn takes is known only afterwards.
      minutes: 0,
    },
    run.signal,
  )
  if (!reservation.refused) return reservation
  const { reason, scope, kind, spent, limit } = reservation
  if (reason === 'unpriced') {
    yield fail(
      run,
      'PRICE_UNKNOWN',
      `The price of ${run.route.model} is not known, so a budget in dollars cannot be kept.`,
      `Set its price in dollars per million tokens: matrix config set prices '{"${run.route.model}": {"input": 1, "output": 4}}'. Or remove the budget in dollars and set one in tokens.`,
    )
    interrupt(run, `The price of ${run.route.model} is not known.`)
    return undefined
  }
  yield record(run, { type: 'budget_exceeded', scope, kind, spent, limit })
  interrupt(run, `The budget of the ${scope}, ${formatAmount(kind, limit)}, is used up.`)
  return undefined
}

const leastOutputTokens = 1024

/** What is left of the budgets may be less than the longest answer would take. */
function maxOutput(run: Run, { granted }: Reservation): number {
  const prompt = run.conversation.contextTokens()
  const payable = run.pricing ? affordableOutput(granted.usd, prompt, run.pricing) : Number.POSITIVE_INFINITY
  return Math.min(run.maxOutputTokens, Math.max(leastOutputTokens, Math.min(payable, granted.tokens - prompt)))
}

function* warnOfBudgets(run: Run, budgets: BudgetState[], turn: Spent): Generator<Event> {
  for (const state of budgets) {
    const line = state.limit * 0.8
    const isCrossed = state.spent >= line && state.spent - turn[state.kind] < line
    if (isCrossed) yield record(run, { type: 'budget_warning', ...state })
  }
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
      else return yield* giveUp(run, failure.isModelUnknown ? await nameModels(run, failure) : failure)
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
  const { model } = run.route
  yield record(run, { type: 'turn_completed', model, stopReason: 'failed', usage, ...meter(run, usage) })
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
  run.isElsewhere = true
  await takeRoute(run, next, config)
  yield record(run, configOf(next, config))
  return true
}

/** A model that the provider does not know is answered with those that it does. */
async function nameModels({ route: { adapter, model }, signal }: Run, failure: Failure): Promise<Failure> {
  const known = nearestModels(model, await adapter.listModels(signal), 12)
  return known.length === 0 ? failure : { ...failure, hint: `Known models: ${known.join(', ')}. ${failure.hint}` }
}

function* giveUp(run: Run, failure: Failure): Generator<Event, undefined> {
  if (failure.contextExceeded)
    yield fail(run, 'CONTEXT_EXCEEDED', `The conversation is too long for ${run.route.model}: ${failure.message}`)
  else
    yield fail(
      run,
      'PROVIDER_FAILED',
      `${run.route.adapter.name} ${run.route.model} ${outcomes[failure.remedy]}: ${failure.message}`,
      failure.hint,
    )
}

const outcomes = { retry: 'does not answer', elsewhere: 'cannot be used', final: 'refused the request' } as const

function* recordAnswer(run: Run, answer: ProviderResponse, metered: Metered): Generator<Event> {
  const { adapter } = run.route
  const usage = adapter.getTokenUsage(answer)
  const stopReason = adapter.getStopReason(answer)
  run.turns += 1

  for (const event of adapter.buildResponseEvents(answer)) yield record(run, withUri(run, event))
  yield record(run, { type: 'turn_completed', model: answer.model, stopReason, usage, ...metered })
  yield stamp(run, {
    type: 'usage',
    model: answer.model,
    usage,
    costUsd: run.spent.usd,
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

function fail(run: Run, code: ErrorCode, message: string, hint: string = errors[code].hint): Event {
  return record(run, { type: 'error', code, message, hint })
}
