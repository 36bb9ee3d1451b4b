import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronRight, Folder, Star } from 'lucide-react'
import { memo, useMemo, useRef } from 'react'
import { useTasks } from '../live/live.ts'
import { isSameRow, type TreeRow, treeRows } from '../overview/tree-rows.ts'
import { classes } from '../parts/classes.ts'
import { StatusDot } from '../parts/status-dot.tsx'
import { useCurrentPlace } from './place.ts'
import { toggleCollapsed, usePreferences } from './preferences.ts'

const rowHeight = 28

/** The tree, as narrow as it gets: how each task stands, and its title. */
export function SidebarTree({ projectId, rootTaskId }: { projectId: string; rootTaskId: string | null }) {
  const tasks = useTasks(projectId)
  const collapsed = usePreferences((preferences) => preferences.collapsed)
  const favourites = usePreferences((preferences) => preferences.favourites)
  const { taskId } = useCurrentPlace()
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useMemo(
    () => treeRows(tasks, rootTaskId, { collapsed, favourites }),
    [tasks, rootTaskId, collapsed, favourites],
  )
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => rows[index]?.task.id ?? index,
  })

  return (
    <nav ref={scroller} aria-label="Tasks" className="min-h-24 flex-1 overflow-auto pb-2">
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const row = rows[index]
          return row ? (
            <li
              key={key}
              className="absolute inset-x-0 px-2"
              style={{ transform: `translateY(${start}px)`, height: rowHeight }}
            >
              <SidebarRow
                row={row}
                projectId={projectId}
                isCurrent={row.task.id === taskId}
                isFavourite={favourites[row.task.id] === true}
              />
            </li>
          ) : null
        })}
      </ul>
    </nav>
  )
}

type SidebarRowProps = { row: TreeRow; projectId: string; isCurrent: boolean; isFavourite: boolean }

const SidebarRow = memo(DrawnSidebarRow, ({ row: before, ...one }, { row, ...other }) => {
  const names = ['projectId', 'isCurrent', 'isFavourite'] as const
  return isSameRow(before, row) && names.every((name) => one[name] === other[name])
})

function DrawnSidebarRow({ row, projectId, isCurrent, isFavourite }: SidebarRowProps) {
  const { task, depth, hasChildren, isOpen } = row
  return (
    <div
      className={classes('flex h-7 items-center rounded-md', isCurrent ? 'bg-accent-soft' : 'hover:bg-hover')}
      style={{ paddingLeft: Math.min(depth, 8) * 12 }}
    >
      {hasChildren ? (
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={`What is below ${task.title}`}
          onClick={() => toggleCollapsed(task.id)}
          className="flex size-6 shrink-0 items-center justify-center rounded-sm text-ink-3 hover:text-ink"
        >
          <ChevronRight size={12} aria-hidden className={classes('transition-transform', isOpen && 'rotate-90')} />
        </button>
      ) : (
        <span className="w-6 shrink-0" />
      )}
      {task.folder ? (
        <button
          type="button"
          onClick={() => toggleCollapsed(task.id)}
          className="flex min-w-0 flex-1 items-center gap-2 rounded-sm pr-2 text-left text-ink-2"
        >
          <Folder size={13} aria-hidden className="shrink-0" /> <span className="truncate">{task.title}</span>
        </button>
      ) : (
        <Link
          to="/p/$projectId/t/$taskId"
          params={{ projectId, taskId: task.id }}
          title={task.doing ? `${task.title}: ${task.doing}` : task.title}
          className={classes(
            'flex h-7 min-w-0 flex-1 items-center gap-2 rounded-sm pr-2',
            isCurrent ? 'font-medium text-accent' : 'text-ink',
            task.status === 'closed' && 'text-ink-3 line-through decoration-1',
          )}
        >
          <StatusDot task={task} />
          <span className="truncate">{task.title}</span>
          {isFavourite ? (
            <Star size={11} aria-label="Favourite" className="ml-auto shrink-0 fill-current text-warn" />
          ) : null}
        </Link>
      )}
    </div>
  )
}
