import { MatrixError, printableLine, type TaskBudgets } from '@matrix/protocol'

/** Budgets as they are typed: `--budget 2 --budget-tokens 500k --budget-time 30m`. */
export type BudgetOptions = { budget?: string; budgetTokens?: string; budgetTime?: string }

const kinds = [
  { option: 'budget', field: 'budgetUsd', read: readAmount },
  { option: 'budgetTokens', field: 'budgetTokens', read: readCount },
  { option: 'budgetTime', field: 'budgetMinutes', read: readMinutes },
] as const

export function readBudgets(options: BudgetOptions): TaskBudgets {
  return Object.fromEntries(given(options).map(({ field, read, text }) => [field, read(text)]))
}

/** The same for a change, where `none` removes a budget. */
export function readBudgetEdits(options: BudgetOptions): { [Name in keyof TaskBudgets]?: number | null } {
  return Object.fromEntries(given(options).map(({ field, read, text }) => [field, text === 'none' ? null : read(text)]))
}

function given(options: BudgetOptions) {
  return kinds.flatMap((kind) => {
    const text = options[kind.option]
    return text === undefined ? [] : [{ ...kind, text }]
  })
}

function readAmount(text: string): number {
  const amount = Number(text.replace(/^\$/, ''))
  if (text.trim() !== '' && Number.isFinite(amount) && amount >= 0) return amount
  throw wrong(text, 'an amount of dollars', 'Write it like 2.50.')
}

function readCount(text: string): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text) ?? []
  if (digits !== undefined) return Math.round(Number(digits) * { '': 1, k: 1000, M: 1_000_000 }[unit as '' | 'k' | 'M'])
  throw wrong(text, 'a number of tokens', 'Write it like 200000, 500k or 2M.')
}

function readMinutes(text: string): number {
  return readDuration(text) / 60_000
}

/** In ms; a number alone is seconds. */
export function readDuration(text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(text) ?? []
  const seconds = { s: 1, m: 60, h: 3600, '': 1 }[unit]
  if (amount !== undefined && seconds !== undefined && Number(amount) > 0) return Number(amount) * seconds * 1000
  throw wrong(text, 'a duration', 'Write 90s, 15m or 2h.')
}

function wrong(text: string, what: string, hint: string): MatrixError {
  return new MatrixError('REQUEST_INVALID', `"${printableLine(text)}" is not ${what}.`, { hint })
}
