const usd = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' })
const fineUsd = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 4 })
const exact = new Intl.NumberFormat('en')
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** Money as people say it: cents, unless it is less than one. */
export function formatUsd(value: number): string {
  if (value > 0 && value < 0.0001) return '<$0.0001'
  return value > 0 && value < 0.01 ? fineUsd.format(value) : usd.format(value)
}

export function formatCount(value: number): string {
  return exact.format(value)
}

/** 950, 12.3k, 1.2M. */
export function formatTokens(value: number): string {
  if (value < 1000) return String(value)
  if (value < 999_500) return `${trimmed(value / 1000)}k`
  return `${trimmed(value / 1_000_000)}M`
}

function trimmed(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, '')
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** The largest unit and, if it says something, the next: 4s, 12m, 3h 20m, 2d 4h. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return '0s'
  const first = units.findIndex(([, size]) => ms >= size)
  const [unit, size] = units[first] ?? ['s', 1000]
  const whole = `${Math.floor(ms / size)}${unit}`
  const [nextUnit, nextSize] = units[first + 1] ?? []
  if (!nextUnit || !nextSize || unit === 'm') return whole
  const rest = Math.floor((ms % size) / nextSize)
  return rest > 0 ? `${whole} ${rest}${nextUnit}` : whole
}

export function formatAge(at: string, now: number): string {
  const ms = now - Date.parse(at)
  return ms < 5000 ? 'now' : formatDuration(ms)
}

export function formatMoment(at: string): string {
  return clock.format(new Date(at))
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${trimmed(bytes / 1000)} kB`
  if (bytes < 1_000_000_000) return `${trimmed(bytes / 1_000_000)} MB`
  return `${trimmed(bytes / 1_000_000_000)} GB`
}
