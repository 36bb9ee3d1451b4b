import type { TaskView } from '@matrix/protocol/http'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import { ProjectPage } from '../app/project-page.tsx'
import { client } from '../live/client.ts'
import { useProject, useTasks } from '../live/live.ts'
import { useNow } from '../parts/clock.ts'
import { Choice } from '../parts/field.tsx'
import { formatDuration } from '../parts/formats.ts'
import { Empty } from '../parts/states.tsx'
import { StatusDot, standingOf } from '../parts/status-dot.tsx'
import { timeTicks } from './time-ticks.ts'
import { treeRows } from './tree-rows.ts'
import { addToLog, emptyLog, type WorkLog } from './work-spans.ts'

const rowHeight = 32
const ranges = [
  { label: 'From the beginning', ms: 0 },
  { label: 'Last 15 minutes', ms: 900_000 },
  { label: 'Last hour', ms: 3_600_000 },
  { label: 'Last 6 hours', ms: 21_600_000 },
  { label: 'Last day', ms: 86_400_000 },
  { label: 'Last week', ms: 604_800_000 },
]

const leastMs = 5000

type Range = { startMs: number; endMs: number }

/** Who worked when, read from what each agent did. */
export function TimelinePage() {
  const { projectId = '' } = useParams({ strict: false })
  const rows = useWorkedTasks(projectId)
  const now = useNow()
  const [rangeMs, setRangeMs] = useState(0)
  const range = rangeMs > 0 ? { startMs: now - rangeMs, endMs: now } : wholeTime(rows, now)

  return (
    <ProjectPage
      actions={
        <Choice aria-label="How far back" value={rangeMs} onChange={(event) => setRangeMs(Number(event.target.value))}>
          {ranges.map(({ label, ms }) => (
            <option key={ms} value={ms}>
              {label}
            </option>
          ))}
        </Choice>
      }
    >
      {rows.length > 0 ? (
        <Rows rows={rows} range={range} />
      ) : (
        <Empty title="Nobody has worked yet">Every agent gets a line here once it has done something.</Empty>
      )}
    </ProjectPage>
  )
}

function useWorkedTasks(projectId: string): TaskView[] {
  const rootTaskId = useProject(projectId)?.rootTaskId ?? null
  const tasks = useTasks(projectId)
  return useMemo(
    () =>
      treeRows(tasks, rootTaskId, { collapsed: {}, favourites: {} })
        .map(({ task }) => task)
        .filter(({ folder, lastSeq }) => !folder && lastSeq > 0),
    [tasks, rootTaskId],
  )
}

/** From the first task to the last word, or to now while anybody works; never so short that a single turn fills it. */
function wholeTime(tasks: readonly TaskView[], now: number): Range {
  const startMs = Math.min(now, ...tasks.map(({ createdAt }) => Date.parse(createdAt)))
  const lastMs = Math.max(startMs, ...tasks.map(({ lastAt }) => Date.parse(lastAt ?? '') || 0))
  const isAnybodyAtWork = tasks.some((task) => standingOf(task).isAlive)
  return { startMs, endMs: Math.max(isAnybodyAtWork ? now : lastMs, startMs + leastMs) }
}

function Rows({ rows, range }: { rows: readonly TaskView[]; range: Range }) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 4,
    getItemKey: (index) => rows[index]?.id ?? index,
  })

  return (
    <section ref={scroller} aria-label="Who worked when" className="h-full overflow-auto">
      <Axis range={range} />
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const task = rows[index]
          return task ? (
            <li
              key={key}
              className="absolute inset-x-0 flex items-center border-b"
              style={{ transform: `translateY(${start}px)`, height: rowHeight }}
            >
              <Row task={task} range={range} />
            </li>
          ) : null
        })}
      </ul>
    </section>
  )
}

const nameWidth = 'w-64 shrink-0 max-md:w-32'

function Axis({ range }: { range: Range }) {
  const ticks = timeTicks(range.startMs, range.endMs)
  return (
    <div aria-hidden className="sticky top-0 z-10 flex h-7 items-center border-b bg-canvas text-ink-3 text-xs">
      <span className={nameWidth} />
      <span className="relative mr-8 h-full flex-1">
        {ticks.map(({ atMs, label }) => (
          <span
            key={atMs}
            className="-translate-x-1/2 tabular absolute top-1.5 whitespace-nowrap"
            style={{ left: `${shareOf(atMs, range)}%` }}
          >
            {label}
          </span>
        ))}
      </span>
    </div>
  )
}

function Row({ task, range }: { task: TaskView; range: Range }) {
  const log = useWorkLog(task)
  // Whoever waits for a person does not work, whatever is open meanwhile.
  const isWorking = standingOf(task).isAlive
  const spans = log.spans.filter(({ endMs }) => endMs >= range.startMs)
  const workedMs = spans.reduce((sum, { startMs, endMs }) => sum + endMs - Math.max(startMs, range.startMs), 0)

  return (
    <>
      <Link
        to="/p/$projectId/t/$taskId"
        params={{ projectId: task.projectId, taskId: task.id }}
        className={`${nameWidth} flex items-center gap-2 px-4 hover:text-accent`}
      >
        <StatusDot task={task} silent />
        <span className="truncate">{task.title}</span>
        <span className="sr-only">, worked {formatDuration(workedMs)} in this time</span>
      </Link>
      <span aria-hidden className="relative mr-8 h-full flex-1">
        {spans.map(({ startMs, endMs, turns }, index) => {
          const left = Math.max(0, shareOf(startMs, range))
          const isLast = index === spans.length - 1
          const right = isLast && isWorking ? 100 : shareOf(endMs, range)
          return (
            <span
              key={startMs}
              title={`${formatDuration(endMs - startMs)}, ${turns} turns`}
              className={`absolute top-2 h-4 min-w-1 rounded-sm ${isLast && isWorking ? 'bg-accent' : 'bg-accent/55'}`}
              style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}
            />
          )
        })}
      </span>
    </>
  )
}

function shareOf(atMs: number, { startMs, endMs }: Range): number {
  return ((atMs - startMs) / (endMs - startMs)) * 100
}

const pageSize = 1000

/** Read when its row comes into sight, then only what is new. */
function useWorkLog(task: TaskView): WorkLog {
  const { projectId, id: taskId, lastSeq } = task
  const cache = useQueryClient()
  const key = ['work', projectId, taskId]
  const { data } = useQuery({
    queryKey: [...key, lastSeq],
    queryFn: async ({ signal }) => {
      let log = cache.getQueryData<WorkLog>(key) ?? emptyLog
      for (let more = true; more; ) {
        const page = await client.readEvents({ projectId, taskId, after: log.lastSeq, limit: pageSize }, { signal })
        log = addToLog(log, page.events)
        more = page.more && page.events.length > 0
      }
      cache.setQueryData(key, log)
      return log
    },
    placeholderData: keepPreviousData,
    gcTime: 60_000,
  })
  return data ?? cache.getQueryData<WorkLog>(key) ?? emptyLog
}
