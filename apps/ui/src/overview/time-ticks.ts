export type Tick = { atMs: number; label: string }

const minute = 60_000
const steps = [1 / 60, 1 / 30, 1 / 12, 1 / 6, 1 / 2, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880].map(
  (minutes) => minutes * minute,
)
const mostTicks = 8

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const precise = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })

/** Round moments of local time between two others, few enough to be read. */
export function timeTicks(startMs: number, endMs: number): Tick[] {
  const step = steps.find((one) => (endMs - startMs) / one <= mostTicks) ?? 2880 * minute
  const shift = new Date(startMs).getTimezoneOffset() * minute
  const first = Math.ceil((startMs - shift) / step) * step + shift
  const ticks: Tick[] = []
  for (let atMs = first; atMs <= endMs; atMs += step) ticks.push({ atMs, label: labelOf(atMs, step) })
  return ticks
}

function labelOf(atMs: number, step: number): string {
  if (step < minute) return precise.format(atMs)
  const isMidnight = clock.format(atMs) === '00:00'
  return step >= 1440 * minute || isMidnight ? date.format(atMs) : clock.format(atMs)
}
