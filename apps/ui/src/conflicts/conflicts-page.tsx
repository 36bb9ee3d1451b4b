import { plural } from '@matrix/protocol/display'
import type { Overlap } from '@matrix/protocol/http'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { GitMerge, RefreshCw } from 'lucide-react'
import { useMemo, useState } from 'react'
import { ProjectPage } from '../app/project-page.tsx'
import { client } from '../live/client.ts'
import { useTasks } from '../live/live.ts'
import { Badge } from '../parts/badge.tsx'
import { IconButton } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Empty, ErrorState, Loading } from '../parts/states.tsx'
import { StatusDot } from '../parts/status-dot.tsx'
import { type Meeting, type OverlapMap, toOverlapMap } from './overlap-map.ts'

/** Which live branches touch the same files, before anybody merges them. */
export function ConflictsPage() {
  const { projectId } = useParams({ from: '/p/$projectId/conflicts' })
  const tasks = useTasks(projectId)
  // Branches change when agents stop or start; between that, the map can be asked for again by hand.
  const moment = useMemo(
    () =>
      Object.values(tasks)
        .map(({ id, activity, status }) => `${id}${activity}${status}`)
        .join(),
    [tasks],
  )
  const overlaps = useQuery({
    queryKey: ['overlaps', projectId, moment],
    queryFn: () => client.listOverlaps({ projectId }),
    placeholderData: (before) => before,
  })

  return (
    <ProjectPage
      actions={
        <IconButton label="Compare again" onClick={() => void overlaps.refetch()} isBusy={overlaps.isFetching}>
          <RefreshCw size={14} aria-hidden />
        </IconButton>
      }
    >
      {overlaps.isPending ? <Loading label="Comparing branches" /> : null}
      {overlaps.isError ? <ErrorState error={overlaps.error} onRetry={() => void overlaps.refetch()} /> : null}
      {overlaps.data ? <Overlaps overlaps={overlaps.data} projectId={projectId} /> : null}
    </ProjectPage>
  )
}

function Overlaps({ overlaps, projectId }: { overlaps: Overlap[]; projectId: string }) {
  const map = useMemo(() => toOverlapMap(overlaps), [overlaps])
  const [chosen, setChosen] = useState<string>()
  const meetings = chosen ? map.meetings.filter(({ key }) => key === chosen) : map.meetings
  if (map.tasks.length === 0)
    return (
      <Empty icon={<GitMerge size={28} aria-hidden />} title="No two branches meet">
        No file is changed by more than one live branch. Whether a branch still fits what was merged before, its review
        says.
      </Empty>
    )

  const clashing = map.meetings.filter(({ conflicts }) => conflicts.length > 0).length
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-6 p-4">
      <p className="text-md">
        {clashing > 0 ? (
          <span className="font-medium text-bad">{plural(clashing, 'pair')} of branches would conflict.</span>
        ) : (
          <span className="font-medium text-ok">Nothing would conflict.</span>
        )}{' '}
        <span className="text-ink-2">
          {plural(overlaps.length, 'file')} changed by more than one of {plural(map.tasks.length, 'branch', 'branches')}
          .
        </span>
      </p>
      <Matrix map={map} chosen={chosen} onChoose={(key) => setChosen((before) => (before === key ? undefined : key))} />
      <ol className="flex flex-col gap-3">
        {meetings.map((meeting) => (
          <li key={meeting.key}>
            <MeetingCard meeting={meeting} projectId={projectId} />
          </li>
        ))}
      </ol>
    </div>
  )
}

type MatrixProps = { map: OverlapMap; chosen: string | undefined; onChoose: (key: string) => void }

const most = 24

/** Every branch against every other: empty where they never meet, a number where they share files, red where they clash. */
function Matrix({ map, chosen, onChoose }: MatrixProps) {
  const tasks = map.tasks.slice(0, most)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section className="overflow-x-auto" tabIndex={0} aria-label="Map of branches">
      <table className="border-separate border-spacing-0.5 text-sm">
        <caption className="sr-only">Files that two branches both change</caption>
        <thead>
          <tr>
            <td />
            {tasks.slice(0, -1).map((task, column) => (
              <th key={task.taskId} scope="col" className="px-1 font-normal text-ink-3" title={task.title}>
                <span aria-hidden>{column + 1}</span>
                <span className="sr-only">{task.title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tasks.map((task, row) => (
            <tr key={task.taskId}>
              <th scope="row" className="max-w-64 truncate pr-2 text-left font-normal" title={task.branch}>
                <span className="tabular mr-2 inline-block w-5 text-right text-ink-3">{row + 1}</span>
                {task.title}
              </th>
              {tasks.slice(0, row).map((other) => (
                <td key={other.taskId}>
                  <Cell meeting={map.find(task.taskId, other.taskId)} chosen={chosen} onChoose={onChoose} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {map.tasks.length > most ? (
        <p className="mt-2 text-ink-3">
          The {most} branches with the most trouble are shown; all pairs are listed below.
        </p>
      ) : null}
    </section>
  )
}

type CellProps = { meeting: Meeting | undefined; chosen: string | undefined; onChoose: (key: string) => void }

function Cell({ meeting, chosen, onChoose }: CellProps) {
  const look = 'flex size-8 items-center justify-center rounded-sm'
  if (!meeting) return <span className={classes(look, 'bg-sunken')} />
  const isClash = meeting.conflicts.length > 0
  const [one, other] = meeting.tasks
  const words = isClash
    ? `${one.title} and ${other.title} would conflict in ${plural(meeting.conflicts.length, 'file')} of ${meeting.files.length} shared`
    : `${one.title} and ${other.title} both change ${plural(meeting.files.length, 'file')}, without a conflict`
  return (
    <button
      type="button"
      title={words}
      aria-label={words}
      aria-pressed={meeting.key === chosen}
      onClick={() => onChoose(meeting.key)}
      className={classes(
        look,
        'tabular font-medium',
        isClash ? 'bg-bad-soft text-bad' : 'bg-accent-soft text-accent',
        meeting.key === chosen && 'outline-2 outline-accent',
      )}
    >
      {isClash ? `${meeting.conflicts.length}!` : meeting.files.length}
    </button>
  )
}

function MeetingCard({ meeting, projectId }: { meeting: Meeting; projectId: string }) {
  const tasks = useTasks(projectId)
  const clashing = new Set(meeting.conflicts)
  return (
    <article className="rounded-lg border bg-surface">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-3 py-2">
        {meeting.tasks.map(({ taskId, title }, index) => {
          const task = tasks[taskId]
          return (
            <span key={taskId} className="flex min-w-0 items-center gap-2">
              {index === 1 ? <span className="text-ink-3">and</span> : null}
              {task ? <StatusDot task={task} /> : null}
              <Link
                to="/p/$projectId/t/$taskId/review"
                params={{ projectId, taskId }}
                className="min-w-0 truncate font-medium hover:underline"
              >
                {title}
              </Link>
            </span>
          )
        })}
        <span className="flex-1" />
        {clashing.size > 0 ? <Badge tone="bad">{plural(clashing.size, 'conflict')}</Badge> : <Badge>fits so far</Badge>}
      </header>
      <ul className="px-3 py-2 font-mono text-sm">
        {meeting.files
          .toSorted((left, right) => Number(clashing.has(right)) - Number(clashing.has(left)))
          .map((file) => (
            <li key={file} className={classes('truncate', clashing.has(file) ? 'text-bad' : 'text-ink-2')}>
              {file}
              {clashing.has(file) ? <span className="font-sans"> · would conflict</span> : ''}
            </li>
          ))}
      </ul>
    </article>
  )
}
