import type { TaskView } from '@matrix/protocol/http'
import { Link, useParams } from '@tanstack/react-router'
import { ChartGantt, Columns3, GitMerge, ListTree, ReceiptText, SquareTerminal } from 'lucide-react'
import type { ReactNode } from 'react'
import { useLive, useProject } from '../live/live.ts'
import { MadeUp } from '../money/made-up.tsx'
import { Badge } from '../parts/badge.tsx'
import { Money } from '../parts/figures.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import { standingOf } from '../parts/status-dot.tsx'

const views = [
  { to: '/p/$projectId', label: 'Tree', icon: ListTree },
  { to: '/p/$projectId/board', label: 'Board', icon: Columns3 },
  { to: '/p/$projectId/timeline', label: 'Timeline', icon: ChartGantt },
  { to: '/p/$projectId/conflicts', label: 'Conflicts', icon: GitMerge },
  { to: '/p/$projectId/processes', label: 'Processes', icon: SquareTerminal },
  { to: '/p/$projectId/money', label: 'Money', icon: ReceiptText },
] as const

function isAtWork(task: TaskView): boolean {
  return standingOf(task).isAlive
}

/** The frame that all views of one project share: its name, how it is, and the way from one view to the next. */
export function ProjectPage({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  const { projectId } = useParams({ strict: false })
  const project = useProject(projectId)
  const isLoaded = useLive((live) => live.isLoaded)
  // Whoever waits for a person does not work, whatever is open meanwhile.
  const working = useLive(({ tasks }) => Object.values(tasks[projectId ?? ''] ?? {}).filter(isAtWork).length)
  if (!projectId || !project)
    return isLoaded ? <Empty title="There is no such project">It may have been removed.</Empty> : <Loading />

  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b bg-surface px-4 pt-2">
        <h1 className="min-w-0 truncate font-semibold text-lg" title={project.path}>
          {project.name}
        </h1>
        <span className="flex items-center gap-2 text-ink-2 text-sm">
          {project.isDemo ? <Badge title="The sample project that came with Matrix">Demo</Badge> : null}
          {project.baseBranch ? <span className="font-mono">{project.baseBranch}</span> : null}
          <span aria-hidden>·</span>
          <span>{project.agents.live === 0 ? 'no agents' : `${working} of ${project.agents.live} agents working`}</span>
          <span aria-hidden>·</span>
          <Money usd={project.costUsd} />
          <MadeUp projectId={projectId} />
        </span>
        <div className="ml-auto flex min-h-8 items-center gap-2">{actions}</div>
        <nav aria-label="Views of the project" className="-mx-2 flex w-full gap-1 overflow-x-auto">
          {views.map(({ to, label, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              params={{ projectId }}
              activeOptions={{ exact: true, includeSearch: false }}
              className="flex h-8 shrink-0 items-center gap-1.5 border-transparent border-b-2 px-2 font-medium text-ink-2 hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
            >
              <Icon size={14} aria-hidden /> {label}
            </Link>
          ))}
        </nav>
      </header>
      {project.problem ? (
        <div role="alert" className="border-b bg-bad-soft px-4 py-2">
          <p className="font-medium text-bad">{project.problem.message}</p>
          <p className="text-ink-2">{project.problem.hint} Until then nothing runs here.</p>
        </div>
      ) : null}
      <div className="min-h-0 flex-1 overflow-auto">{children}</div>
    </div>
  )
}
