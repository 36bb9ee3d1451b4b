import * as z from 'zod'
import { everyBudgetKind } from './budget-kind.ts'

const BudgetKind = z.enum(everyBudgetKind)

const amount = z.number().nonnegative()

/** The budgets of one task, each for it and everything below it. */
export const budgetFields = {
  budgetUsd: amount.max(1_000_000),
  budgetTokens: amount.max(1e12),
  budgetMinutes: amount.max(1_000_000),
} as const
export type TaskBudgets = { [Name in keyof typeof budgetFields]?: number }

export const SpentView = z.object({ usd: amount, tokens: amount, minutes: amount, unpricedTurns: amount })

/** The fields of a budget event. Older sessions only know dollars, as `costUsd` and `budgetUsd`. */
export const budgetEventFields = {
  scope: z.enum(['task', 'tree']),
  kind: BudgetKind.optional(),
  spent: amount.optional(),
  limit: amount.optional(),
  costUsd: amount.optional(),
  budgetUsd: amount.optional(),
}
