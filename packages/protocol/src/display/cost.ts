import type { TokenUsage } from '../event.ts'

type Amounts = TokenUsage & { usd: number; turns: number; unpricedTurns: number; workMs: number }

/** What two rows come to together; what else the first one says stays. */
export function addCosts<Row extends Amounts>(one: Row, other: Amounts): Row {
  return {
    ...one,
    usd: one.usd + other.usd,
    turns: one.turns + other.turns,
    unpricedTurns: one.unpricedTurns + other.unpricedTurns,
    workMs: one.workMs + other.workMs,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  }
}
