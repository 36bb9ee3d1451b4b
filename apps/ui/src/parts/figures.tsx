import { useNow } from './clock.ts'
import { formatAge, formatCount, formatMoment, formatTokens, formatUsd } from './formats.ts'

export function Money({ usd, className }: { usd: number; className?: string }) {
  return (
    <span className={`tabular ${className ?? ''}`} title={`$${usd}`}>
      {formatUsd(usd)}
    </span>
  )
}

export function Tokens({ count, className }: { count: number; className?: string }) {
  return (
    <span className={`tabular ${className ?? ''}`} title={`${formatCount(count)} tokens`}>
      {formatTokens(count)}
    </span>
  )
}

/** How long ago, kept true while it is looked at; the moment itself on hover. */
export function Age({ at, className }: { at: string; className?: string }) {
  const now = useNow()
  return (
    <time dateTime={at} className={`tabular ${className ?? ''}`} title={formatMoment(at)}>
      {formatAge(at, now)}
    </time>
  )
}
