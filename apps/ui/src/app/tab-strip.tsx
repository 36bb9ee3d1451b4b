import { Link, useNavigate } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useLive, useTask } from '../live/live.ts'
import { classes } from '../parts/classes.ts'
import { StatusDot } from '../parts/status-dot.tsx'
import { useCurrentPlace } from './place.ts'
import { closeTab, type OpenTab, pinTab, usePreferences } from './preferences.ts'

/** The tasks that somebody keeps open. A slanted title is only looked at: the next one takes its place. */
export function TabStrip() {
  const tabs = usePreferences((preferences) => preferences.tabs)
  const tasks = useLive((live) => live.tasks)
  const known = tabs.filter(({ projectId, taskId }) => tasks[projectId]?.[taskId])
  if (known.length === 0) return null

  return (
    <nav aria-label="Open tasks" className="flex h-9 shrink-0 overflow-x-auto border-b bg-canvas max-md:hidden">
      {known.map((tab) => (
        <TabHandle key={`${tab.projectId}/${tab.taskId}`} tab={tab} />
      ))}
    </nav>
  )
}

function TabHandle({ tab }: { tab: OpenTab }) {
  const navigate = useNavigate()
  const current = useCurrentPlace()
  const task = useTask(tab.projectId, tab.taskId)
  if (!task) return null
  const isCurrent = current.taskId === tab.taskId

  const onClose = () => {
    const next = closeTab(tab.taskId)
    if (!isCurrent) return
    if (next) void navigate({ to: '/p/$projectId/t/$taskId', params: next })
    else void navigate({ to: '/p/$projectId', params: { projectId: tab.projectId } })
  }

  return (
    <div
      className={classes(
        'group flex max-w-56 shrink-0 items-center border-r',
        isCurrent ? 'bg-surface shadow-[inset_0_2px_0_var(--accent)]' : 'text-ink-2 hover:bg-hover',
      )}
    >
      <Link
        to="/p/$projectId/t/$taskId"
        params={tab}
        aria-current={isCurrent ? 'page' : undefined}
        onDoubleClick={() => pinTab(tab.taskId)}
        onAuxClick={(event) => {
          if (event.button === 1) onClose()
        }}
        title={tab.isPinned ? task.title : `${task.title} (double-click to keep it open)`}
        className="focus-visible:-outline-offset-2 flex h-full min-w-0 items-center gap-2 pl-3"
      >
        <StatusDot task={task} />
        <span className={classes('truncate', !tab.isPinned && 'italic')}>{task.title}</span>
      </Link>
      <button
        type="button"
        aria-label={`Close ${task.title}`}
        onClick={onClose}
        className={classes(
          'mx-1 rounded-sm p-0.5 text-ink-3 hover:bg-hover hover:text-ink focus-visible:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100',
          !isCurrent && 'opacity-0',
        )}
      >
        <X size={13} aria-hidden />
      </button>
    </div>
  )
}
