import { classes } from '../parts/classes.ts'
import { formatUsd } from '../parts/formats.ts'
import type { Day } from './spending.ts'

const fills = ['text-accent', 'text-ok', 'text-warn', 'text-ink-3']

type DayChartProps = { days: readonly Day[]; models: readonly string[] }

/** A bar for each day, in pieces for each model. Drawn by hand: thirty rectangles need no library. */
export function DayChart({ days, models }: DayChartProps) {
  const highest = Math.max(...days.map(({ usd }) => usd), 0.01)
  return (
    <figure aria-label="Spent on each of the last days">
      <div className="flex h-40 items-end gap-1">
        {days.map((day) => (
          <div
            key={day.day}
            role="img"
            aria-label={`${formatDay(day.day)}: ${formatUsd(day.usd)}`}
            title={[
              `${formatDay(day.day)}: ${formatUsd(day.usd)}`,
              ...day.models.map(({ model, usd }) => `${model} ${formatUsd(usd)}`),
            ].join('\n')}
            className="flex h-full min-w-0 flex-1 flex-col justify-end rounded-t-sm hover:bg-hover"
          >
            {day.models.map(({ model, usd }) => (
              <div
                key={model}
                style={{ height: `${(usd / highest) * 100}%` }}
                className={classes('w-full bg-current first:rounded-t-sm', fillOf(model, models))}
              />
            ))}
          </div>
        ))}
      </div>
      <div className="mt-1 flex justify-between border-t pt-1 text-ink-3 text-xs">
        <span>{formatDay(days[0]?.day)}</span>
        <span>highest {formatUsd(Math.max(...days.map(({ usd }) => usd), 0))}</span>
        <span>{formatDay(days.at(-1)?.day)}</span>
      </div>
      <figcaption className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {models.map((model) => (
          <span key={model} className="flex items-center gap-1.5">
            <span aria-hidden className={classes('size-2.5 rounded-sm bg-current', fillOf(model, models))} />
            {model || 'unknown'}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

// A day of the ledger is one of UTC, wherever it is looked at.
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

function formatDay(day: string | undefined): string {
  return day === undefined ? '' : date.format(new Date(day))
}

function fillOf(model: string, models: readonly string[]): string {
  return fills[Math.min(models.indexOf(model), fills.length - 1)] ?? 'text-ink-3'
}
