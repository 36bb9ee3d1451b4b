/** What budgets are counted in, and the names under which each kind stands in tasks and in the settings. */
export const budgetKinds = {
  usd: { budget: 'budgetUsd', treeBudget: 'treeBudgetUsd', spent: 'costUsd', removed: 'removedCostUsd' },
  tokens: { budget: 'budgetTokens', treeBudget: 'treeBudgetTokens', spent: 'spentTokens', removed: 'removedTokens' },
  minutes: {
    budget: 'budgetMinutes',
    treeBudget: 'treeBudgetMinutes',
    spent: 'spentMinutes',
    removed: 'removedMinutes',
  },
} as const

export type BudgetKind = keyof typeof budgetKinds

/** Every kind, for what is done for each. */
export const everyBudgetKind = ['usd', 'tokens', 'minutes'] as const satisfies readonly BudgetKind[]

/** What was spent, in everything that budgets are counted in. What turns of models without a known price cost is unknown. */
export type Spent = Record<BudgetKind, number> & { unpricedTurns: number }

export const nothingSpent: Spent = { usd: 0, tokens: 0, minutes: 0, unpricedTurns: 0 }

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    usd: one.usd + other.usd,
    tokens: one.tokens + other.tokens,
    minutes: one.minutes + other.minutes,
    unpricedTurns: one.unpricedTurns + other.unpricedTurns,
  }
}

/** How far a budget is used, and whether it is the task's own or that of a task above or of the tree. */
export type BudgetState = { scope: 'task' | 'tree'; kind: BudgetKind; spent: number; limit: number }

type BudgetEvent = { scope: BudgetState['scope'] } & { [K in 'kind']?: BudgetKind | undefined } & {
  [K in 'spent' | 'limit' | 'costUsd' | 'budgetUsd']?: number | undefined
}

export function readBudgetState({ scope, kind = 'usd', spent, limit, costUsd, budgetUsd }: BudgetEvent): BudgetState {
  return { scope, kind, spent: spent ?? costUsd ?? 0, limit: limit ?? budgetUsd ?? 0 }
}
