import { useLive } from '../live/live.ts'
import { useNow } from '../parts/clock.ts'
import { formatDuration } from '../parts/formats.ts'

/** Stands above everything while what is shown may be old. */
export function HealthBanner() {
  const health = useLive((live) => live.health)
  const lostAt = useLive((live) => live.lostAt)
  const now = useNow()
  if (health === 'live' || health === 'connecting') return null

  return (
    <div
      role="status"
      className={`flex shrink-0 items-center gap-2 border-b px-4 py-1.5 ${health === 'offline' ? 'bg-bad-soft text-bad' : 'bg-warn-soft text-warn'}`}
    >
      <span className="font-medium">{titles[health]}</span>
      <span className="text-ink-2">
        {details[health]}
        {health === 'offline' && lostAt ? ` Last heard ${formatDuration(Math.max(0, now - lostAt))} ago.` : null}
      </span>
    </div>
  )
}

const titles = { behind: 'Catching up', reconnecting: 'Reconnecting', offline: 'No daemon' }
const details = {
  behind: 'Reading what was missed; what you see may be a moment old.',
  reconnecting: 'The daemon is out of reach; what you see is how things were.',
  offline: 'What you see is how things were. Start it with matrix daemon start; this page goes on by itself.',
}
