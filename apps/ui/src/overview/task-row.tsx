import { Link } from '@tanstack/react-router'
import { ChevronRight, Folder, MessageSquare, Star } from 'lucide-react'
import { memo, useRef } from 'react'
import { toggleCollapsed, toggleFavourite, usePreferences } from '../app/preferences.ts'
import { classes } from '../parts/classes.ts'
import { Age, Money } from '../parts/figures.tsx'
import { formatUsd } from '../parts/formats.ts'
import { StatusDot, standingOf } from '../parts/status-dot.tsx'
import { useRowDrag } from './row-drag.tsx'
import type { DropPlace } from './task-move.ts'
import { isSameRow, type TreeRow } from './tree-rows.ts'

type TaskRowProps = {
  row: TreeRow
  isFocused: boolean
  onFocus: (taskId: string) => void
  isMovable: boolean
  /** The task on its way to another place, if any is. */
  movedId: string | undefined
  drop: DropPlace | undefined
}

const textTones = { neutral: 'text-ink-2', accent: 'text-accent', ok: 'text-ok', warn: 'text-warn', bad: 'text-bad' }
const dropLooks: Record<DropPlace, string> = {
  before: 'shadow-[inset_0_2px_0_var(--accent)]',
  after: 'shadow-[inset_0_-2px_0_var(--accent)]',
  inside: 'bg-accent-soft',
}

/** One task of the tree. Drawn again only when something about it has changed, not whenever something is told. */
export const TaskRow = memo(DrawnTaskRow, ({ row: before, ...one }, { row, ...other }) => {
  const names = ['isFocused', 'onFocus', 'isMovable', 'movedId', 'drop'] as const
  return isSameRow(before, row) && names.every((name) => one[name] === other[name])
})

function DrawnTaskRow({ row, isFocused, onFocus, isMovable, movedId, drop }: TaskRowProps) {
  const { task, depth, hasChildren, isOpen, isBystander } = row
  const node = useRef<HTMLDivElement>(null)
  const drag = useRowDrag(node, task.id, isMovable, movedId !== undefined)
  const standing = standingOf(task)

  return (
    <div
      ref={node}
      {...drag.handlers}
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={hasChildren ? isOpen : undefined}
      aria-selected={isFocused}
      aria-label={`${task.title}, ${task.folder ? 'folder' : standing.label}`}
      tabIndex={isFocused ? 0 : -1}
      onFocus={() => onFocus(task.id)}
      data-drop={drop}
      className={classes(
        'focus-visible:-outline-offset-2 group flex h-9 items-center gap-3 border-b px-4 hover:bg-hover',
        drop && dropLooks[drop],
        isBystander && 'opacity-60',
        movedId === task.id && 'opacity-40',
      )}
    >
      {drag.binding}
      <div className="flex min-w-0 flex-1 items-center gap-1" style={{ paddingLeft: Math.min(depth, 12) * 16 }}>
        <Twisty taskId={task.id} title={task.title} isOpen={isOpen} isShown={hasChildren} />
        {task.folder ? (
          <span className="flex min-w-0 items-center gap-2 font-medium text-ink-2">
            <Folder size={14} aria-hidden className="shrink-0" /> <span className="truncate">{task.title}</span>
          </span>
        ) : (
          <Link
            to="/p/$projectId/t/$taskId"
            params={{ projectId: task.projectId, taskId: task.id }}
            tabIndex={-1}
            draggable={false}
            className="flex min-w-0 items-center gap-2 hover:text-accent"
          >
            <StatusDot task={task} silent />
            <span className={classes('truncate font-medium', task.status === 'closed' && 'text-ink-3 line-through')}>
              {task.title}
            </span>
          </Link>
        )}
        <Favourite taskId={task.id} title={task.title} />
        {task.pendingMessages > 0 ? (
          <span className="flex items-center gap-0.5 text-ink-3 text-xs" title="Messages that wait to be read">
            <MessageSquare size={11} aria-hidden /> {task.pendingMessages}
          </span>
        ) : null}
      </div>
      <span className={classes('w-28 shrink-0 truncate max-md:w-auto max-md:text-sm', textTones[standing.tone])}>
        {task.folder ? '' : standing.label}
      </span>
      <span className="w-[22%] shrink-0 truncate text-ink-2 max-xl:hidden" title={task.doing ?? undefined}>
        {task.doing}
      </span>
      <span
        className="w-44 shrink-0 truncate font-mono text-ink-3 text-sm max-lg:hidden"
        title={task.branch ?? undefined}
      >
        {task.branch?.replace(/^mxd\/[^/]+\//, '')}
      </span>
      <Cost row={row} />
      <span className="w-14 shrink-0 text-right text-ink-3 max-md:hidden">
        {task.lastAt && !task.folder ? <Age at={task.lastAt} /> : null}
      </span>
    </div>
  )
}

type TwistyProps = { taskId: string; title: string; isOpen: boolean; isShown: boolean }

function Twisty({ taskId, title, isOpen, isShown }: TwistyProps) {
  if (!isShown) return <span className="w-5 shrink-0" />
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={`${isOpen ? 'Hide' : 'Show'} what is below ${title}`}
      onClick={() => toggleCollapsed(taskId)}
      className="shrink-0 rounded-sm p-0.5 text-ink-3 hover:text-ink"
    >
      <ChevronRight size={16} aria-hidden className={classes('transition-transform', isOpen && 'rotate-90')} />
    </button>
  )
}

function Favourite({ taskId, title }: { taskId: string; title: string }) {
  const isFavourite = usePreferences(({ favourites }) => favourites[taskId] === true)
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-pressed={isFavourite}
      aria-label={`Favourite: ${title}`}
      onClick={() => toggleFavourite(taskId)}
      className={classes(
        'shrink-0 rounded-sm p-1',
        isFavourite
          ? 'text-warn'
          : 'text-ink-3 opacity-0 group-focus-visible:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100',
      )}
    >
      <Star size={13} aria-hidden className={classes(isFavourite && 'fill-current')} />
    </button>
  )
}

/** What a branch of the tree has cost in all, with what was deleted from it; an open one shows its parts. */
function Cost({ row: { task, hasChildren, isOpen } }: { row: TreeRow }) {
  const isWhole = task.folder || !hasChildren || !isOpen
  const usd = isWhole ? task.treeCostUsd : task.costUsd
  return (
    <span
      className="w-16 shrink-0 text-right text-ink-2 max-md:hidden"
      title={hasChildren ? `${formatUsd(task.treeCostUsd)} with everything below` : undefined}
    >
      {usd > 0 ? <Money usd={usd} /> : null}
    </span>
  )
}
