import type { TaskView } from '@matrix/protocol/http'
import { Link } from '@tanstack/react-router'
import { FileDiff, MessagesSquare, Wrench } from 'lucide-react'
import type { ReactNode } from 'react'
import { useLive } from '../live/live.ts'
import { MadeUp } from '../money/made-up.tsx'
import { Badge } from '../parts/badge.tsx'
import { Age, Money } from '../parts/figures.tsx'
import { StatusDot, standingOf } from '../parts/status-dot.tsx'

type TaskHeaderProps = { task: TaskView; children?: ReactNode }

const tab =
  '-mb-px flex h-9 items-center gap-1.5 whitespace-nowrap border-b-2 border-transparent px-1 font-medium text-ink-2 hover:text-ink data-[status=active]:border-accent data-[status=active]:text-ink'

/** The same line above everything about a task: what it is, how it stands, and the ways to look at it. */
export function TaskHeader({ task, children }: TaskHeaderProps) {
  const standing = standingOf(task)
  const params = { projectId: task.projectId, taskId: task.id }
  return (
    <header className="shrink-0 border-b bg-surface px-4 pt-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StatusDot task={task} silent />
        <h1 className="min-w-0 truncate font-semibold text-lg">{task.title}</h1>
        <Badge tone={standing.tone}>{standing.label}</Badge>
        <Parent task={task} />
        <span className="flex-1" />
        <span className="flex items-center gap-3 text-ink-2 text-sm">
          <span className="flex gap-1">
            <Money usd={task.treeCostUsd} /> <MadeUp projectId={task.projectId} />
          </span>
          {task.lastAt ? <Age at={task.lastAt} /> : null}
        </span>
      </div>
      {task.problem ? (
        <p role="alert" className="mt-1 rounded-md bg-bad-soft px-2 py-1 text-bad">
          {task.problem.message} <span className="text-ink-2">{task.problem.hint}</span>
        </p>
      ) : null}
      <div className="flex items-center gap-3 overflow-x-auto">
        <nav aria-label="Ways to look at the task" className="flex gap-3">
          <Link
            to="/p/$projectId/t/$taskId"
            params={params}
            activeOptions={{ exact: true, includeSearch: false }}
            className={tab}
          >
            <MessagesSquare size={14} aria-hidden /> Conversation
          </Link>
          <Link to="/p/$projectId/t/$taskId/review" params={params} className={tab}>
            <FileDiff size={14} aria-hidden /> Review
          </Link>
          <Link to="/p/$projectId/t/$taskId/tools" params={params} className={tab}>
            <Wrench size={14} aria-hidden /> Tools
          </Link>
        </nav>
        <span className="flex-1" />
        {children}
      </div>
    </header>
  )
}

function Parent({ task }: { task: TaskView }) {
  const parent = useLive((live) => (task.parentId ? live.tasks[task.projectId]?.[task.parentId] : undefined))
  if (!parent) return null
  return (
    <Link
      to="/p/$projectId/t/$taskId"
      params={{ projectId: task.projectId, taskId: parent.id }}
      className="min-w-0 truncate text-ink-3 text-sm hover:text-ink max-md:hidden"
    >
      in {parent.title}
    </Link>
  )
}
