import type { TaskView } from '@matrix/protocol/http'
import type { Tone } from './badge.tsx'
import { classes } from './classes.ts'

export type Standing = { label: string; tone: Tone; isAlive: boolean }

type Known = Pick<TaskView, 'status' | 'activity' | 'needs' | 'folder'>

const needsWords = {
  approval: 'Needs approval',
  question: 'Has a question',
  conflict: 'Conflict',
  failure: 'Failed',
  budget: 'Out of budget',
  review: 'Ready for review',
} as const

/** How a task stands, in one or two words: what a person must do comes before what the agent does, that before the status. */
export function standingOf(task: Known): Standing {
  const [need] = task.needs
  if (need) return { label: needsWords[need], tone: need === 'failure' ? 'bad' : 'warn', isAlive: false }
  if (task.activity === 'working') return { label: 'Working', tone: 'accent', isAlive: true }
  if (task.activity === 'starting') return { label: 'Starting', tone: 'accent', isAlive: true }
  if (task.activity === 'blocked') return { label: 'Blocked', tone: 'bad', isAlive: false }
  if (task.activity === 'stopped') return { label: 'Stopped', tone: 'warn', isAlive: false }
  if (task.activity === 'waiting' && task.status === 'in_progress')
    return { label: 'Waiting', tone: 'neutral', isAlive: false }
  return statusStanding[task.status]
}

const statusStanding: Record<TaskView['status'], Standing> = {
  draft: { label: 'Draft', tone: 'neutral', isAlive: false },
  pending: { label: 'Pending', tone: 'neutral', isAlive: false },
  in_progress: { label: 'In progress', tone: 'neutral', isAlive: false },
  passed: { label: 'Passed', tone: 'ok', isAlive: false },
  failed: { label: 'Failed', tone: 'bad', isAlive: false },
  closed: { label: 'Closed', tone: 'neutral', isAlive: false },
}

const fills: Record<Tone, string> = {
  neutral: 'text-ink-3',
  accent: 'text-accent',
  ok: 'text-ok',
  warn: 'text-warn',
  bad: 'text-bad',
}

/** Filled means something happened or is needed, hollow means nothing has yet; what is alive breathes. */
export function StatusDot({ task, silent = false }: { task: Known; silent?: boolean }) {
  const standing = standingOf(task)
  const isHollow = standing.tone === 'neutral'

  return (
    <span
      {...(silent ? { 'aria-hidden': true } : { role: 'img', 'aria-label': standing.label })}
      title={standing.label}
      className={classes(
        'relative inline-block size-2 shrink-0',
        fills[standing.tone],
        standing.isAlive && 'breathing',
      )}
    >
      <span
        className={classes(
          'absolute inset-0 rounded-full border-[1.5px] border-current',
          !isHollow && 'bg-current',
          task.status === 'closed' && isHollow && 'opacity-60',
        )}
      />
    </span>
  )
}
