import { budgetKinds, everyBudgetKind, type TaskBudgets } from '@matrix/protocol'

type Edits = { [Name in keyof TaskBudgets]?: number | null }

/** Changes of budgets among the fields of something; `null` removes one. */
export function budgetEdits(source: { [Name in keyof TaskBudgets]?: number | null | undefined }): Edits {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined))
}

/** The budgets among the fields of something. */
export function budgetsOf(source: { [Name in keyof TaskBudgets]?: number | undefined }): TaskBudgets {
  const names = everyBudgetKind.map((kind) => budgetKinds[kind].budget)
  return Object.fromEntries(names.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]])))
}
