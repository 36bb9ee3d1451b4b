import type { BudgetKind, Spent } from '../budget-kind.ts'

/** Money as people read it: cents where there are dollars, more digits where there are none. */
export function formatUsd(usd: number): string {
  if (usd === 0) return '$0'
  if (usd >= 100) return `$${Math.round(usd).toLocaleString('en')}`
  if (usd >= 0.1) return `$${usd.toFixed(2)}`
  return usd >= 0.0001 ? `$${usd.toFixed(4)}` : '<$0.0001'
}

/** 950, 1.2k, 34k, 1.2M. */
export function formatCount(count: number): string {
  if (count < 1000) return String(count)
  if (count < 999_500) return `${scaled(count / 1000)}k`
  return `${scaled(count / 1_000_000)}M`
}

/** Rounded to what matters: 8s, 4m, 2h 5m, 3d 4h. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'm')
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${step === 0 ? bytes : scaled(bytes / 1000 ** step)} ${units[step]}`
}

export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : many}`
}

function scaled(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

function pair(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first}${firstUnit}` : `${first}${firstUnit} ${second}${secondUnit}`
}

/** An amount of what budgets are counted in. */
export function formatAmount(kind: BudgetKind, amount: number): string {
  if (kind === 'usd') return formatUsd(amount)
  return kind === 'tokens' ? `${formatCount(amount)} tokens` : formatDuration(amount * 60_000)
}

/** What is spent and of how much, with as many digits as it takes to tell the one from the other. */
export function formatSpending(kind: BudgetKind, spent: number, limit: number): { spent: string; limit: string } {
  const [first, second] = [formatAmount(kind, spent), formatAmount(kind, limit)]
  if (first !== second || spent === limit || kind === 'minutes') return { spent: first, limit: second }
  if (kind === 'tokens') return { spent: wholeTokens(spent), limit: wholeTokens(limit) }
  const least = Math.max(3, 1 - Math.floor(Math.log10(Math.max(limit, 1e-9))))
  const digits = [0, 1, 2, 3, 4].map((more) => least + more)
  const enough = digits.find((each) => spent.toFixed(each) !== limit.toFixed(each)) ?? least
  return { spent: `$${spent.toFixed(enough)}`, limit: `$${limit.toFixed(enough)}` }
}

function wholeTokens(count: number): string {
  return `${count.toLocaleString('en')} tokens`
}

/** What was spent in dollars. Turns of models without a known price make it unknown, or a sum that is too small. */
export function formatCost({ usd, unpricedTurns }: Pick<Spent, 'usd' | 'unpricedTurns'>): string {
  if (unpricedTurns === 0) return formatUsd(usd)
  return usd === 0 ? 'cost unknown' : `${formatUsd(usd)} + unknown`
}
