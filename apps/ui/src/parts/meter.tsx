import { classes } from './classes.ts'

type MeterProps = { label: string; value: number; max: number; words: string; className?: string }

/** How much of something is used up: calm until it is nearly all, then not. */
export function Meter({ label, value, max, words, className }: MeterProps) {
  const share = max > 0 ? Math.min(1, value / max) : value > 0 ? 1 : 0
  const fill = share >= 1 ? 'text-bad' : share >= 0.8 ? 'text-warn' : 'text-accent'
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw <meter> each in their own way and colours.
    <svg
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={max}
      aria-valuenow={Math.min(value, max)}
      aria-valuetext={words}
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      className={classes('h-1.5 w-full overflow-hidden rounded-full bg-sunken', fill, className)}
    >
      <title>{words}</title>
      <rect width={share * 100} height="4" fill="currentColor" />
    </svg>
  )
}
