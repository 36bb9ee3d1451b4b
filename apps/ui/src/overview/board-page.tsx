import type { TaskView } from '@matrix/protocol/http'
import { Link, useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import { ProjectPage } from '../app/project-page.tsx'
import { useTasks } from '../live/live.ts'
import { Badge } from '../parts/badge.tsx'
import { Age, Money } from '../parts/figures.tsx'
import { StatusDot, standingOf } from '../parts/status-dot.tsx'
import { type BoardColumn, boardColumns } from './board-columns.ts'

// More cards than this in one column are a heap, not a board; the tree finds them better.
const mostCards = 100

/** The same tasks by how far they are. What waits for a person stands on top of its column. */
export function BoardPage() {
  const { projectId } = useParams({ strict: false })
  const tasks = useTasks(projectId)
  const columns = useMemo(() => boardColumns(Object.values(tasks)), [tasks])

  return (
    <ProjectPage>
      <div className="flex h-full snap-x scroll-px-4 gap-3 overflow-x-auto p-4 max-md:scroll-px-2 max-md:gap-2 max-md:p-2">
        {columns.map((column) => (
          <Column key={column.id} column={column} />
        ))}
      </div>
    </ProjectPage>
  )
}

function Column({ column: { id, title, tasks } }: { column: BoardColumn }) {
  return (
    <section
      aria-labelledby={`column-${id}`}
      className="flex w-70 shrink-0 snap-start flex-col rounded-lg bg-sunken max-md:w-[82vw]"
    >
      <h2 id={`column-${id}`} className="flex items-center justify-between px-3 py-2 font-medium">
        {title} <span className="tabular text-ink-2">{tasks.length}</span>
      </h2>
      <ul aria-labelledby={`column-${id}`} className="flex min-h-0 flex-1 flex-col gap-2 overflow-y-auto px-2 pb-2">
        {tasks.slice(0, mostCards).map((task) => (
          <li key={task.id}>
            <Card task={task} />
          </li>
        ))}
        {tasks.length > mostCards ? (
          <li className="p-2 text-center text-ink-2 text-sm">{tasks.length - mostCards} more, in the tree</li>
        ) : null}
        {tasks.length === 0 ? <li className="p-2 text-center text-ink-3 text-sm">None</li> : null}
      </ul>
    </section>
  )
}

function Card({ task }: { task: TaskView }) {
  const standing = standingOf(task)
  return (
    <Link
      to="/p/$projectId/t/$taskId"
      params={{ projectId: task.projectId, taskId: task.id }}
      className="block rounded-md border bg-surface p-2.5 hover:border-line-strong"
    >
      <span className="flex items-start gap-2">
        <span className="flex h-5 items-center">
          <StatusDot task={task} silent />
        </span>
        <span className="line-clamp-2 min-w-0 flex-1 font-medium">{task.title}</span>
      </span>
      {task.doing ? <span className="mt-1 block truncate pl-4 text-ink-2 text-sm">{task.doing}</span> : null}
      <span className="mt-2 flex items-center gap-2 pl-4 text-ink-3 text-sm">
        <Badge tone={standing.tone}>{standing.label}</Badge>
        {task.costUsd > 0 ? <Money usd={task.costUsd} className="ml-auto" /> : <span className="ml-auto" />}
        {task.lastAt ? <Age at={task.lastAt} /> : null}
      </span>
    </Link>
  )
}
