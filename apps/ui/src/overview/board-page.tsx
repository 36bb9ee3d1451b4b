import {
  DndContext,
  DragOverlay,
  MouseSensor,
  pointerWithin,
  TouchSensor,
  useDraggable,
  useDroppable,
  useSensor,
  useSensors,
} from '@dnd-kit/core'
import type { TaskView } from '@matrix/protocol/http'
import { Link, useParams } from '@tanstack/react-router'
import { type KeyboardEvent, useMemo, useState } from 'react'
import { ProjectPage } from '../app/project-page.tsx'
import { sayDone, sayFailure } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useTasks } from '../live/live.ts'
import { Badge } from '../parts/badge.tsx'
import { classes } from '../parts/classes.ts'
import { Age, Money } from '../parts/figures.tsx'
import { StatusDot, standingOf } from '../parts/status-dot.tsx'
import { type BoardColumn, boardColumns } from './board-columns.ts'
import { type BoardMove, boardMove } from './board-move.ts'

// More cards than this in one column are a heap, not a board; the tree finds them better.
const mostCards = 100

/** The same tasks by how far they are. A card is moved where moving it means something: to start, plan again or close. */
export function BoardPage() {
  const { projectId } = useParams({ strict: false })
  const tasks = useTasks(projectId)
  const columns = useMemo(() => boardColumns(Object.values(tasks)), [tasks])
  const [movedId, setMovedId] = useState<string>()
  const moved = movedId ? tasks[movedId] : undefined
  const sensors = useSensors(
    useSensor(MouseSensor, { activationConstraint: { distance: 6 } }),
    // A finger that scrolls must not move cards.
    useSensor(TouchSensor, { activationConstraint: { delay: 300, tolerance: 6 } }),
  )

  return (
    <ProjectPage>
      <DndContext
        sensors={sensors}
        collisionDetection={pointerWithin}
        onDragStart={({ active }) => setMovedId(String(active.id))}
        onDragCancel={() => setMovedId(undefined)}
        onDragEnd={({ over }) => {
          setMovedId(undefined)
          if (moved && over) void carryOut(moved, boardMove(moved, over.id as BoardColumn['id']))
        }}
      >
        <div className="flex h-full snap-x scroll-px-4 gap-3 overflow-x-auto p-4 max-md:scroll-px-2 max-md:gap-2 max-md:p-2">
          {columns.map((column) => (
            <Column key={column.id} column={column} moved={moved} />
          ))}
        </div>
        <DragOverlay dropAnimation={null}>{moved ? <CardBody task={moved} /> : null}</DragOverlay>
      </DndContext>
    </ProjectPage>
  )
}

const moveWords: Record<BoardMove, string> = {
  start: 'Drop to start the agent',
  plan: 'Drop to plan it again',
  close: 'Drop to close the task',
}

function Column({ column: { id, title, tasks }, moved }: { column: BoardColumn; moved: TaskView | undefined }) {
  const { setNodeRef, isOver } = useDroppable({ id })
  const move = moved && boardMove(moved, id)
  return (
    <section
      ref={setNodeRef}
      aria-labelledby={`column-${id}`}
      className={classes(
        'flex min-w-46 max-w-100 flex-1 snap-start flex-col rounded-lg bg-sunken max-md:min-w-[82vw]',
        move && 'outline-2 outline-accent outline-dashed',
        move && isOver && 'bg-accent-soft',
        moved && !move && 'opacity-60',
      )}
    >
      <h2 id={`column-${id}`} className="flex items-center justify-between px-3 py-2 font-medium">
        {title} <span className="tabular text-ink-2">{tasks.length}</span>
      </h2>
      <ul aria-labelledby={`column-${id}`} className="flex min-h-0 flex-1 flex-col gap-2 overflow-y-auto px-2 pb-2">
        {move ? <li className="p-2 text-center text-accent text-sm">{moveWords[move]}</li> : null}
        {tasks.slice(0, mostCards).map((task) => (
          <li key={task.id}>
            <Card task={task} />
          </li>
        ))}
        {tasks.length > mostCards ? (
          <li className="p-2 text-center text-ink-2 text-sm">{tasks.length - mostCards} more, in the tree</li>
        ) : null}
        {tasks.length === 0 && !move ? <li className="p-2 text-center text-ink-3 text-sm">None</li> : null}
      </ul>
    </section>
  )
}

const columnIds: BoardColumn['id'][] = ['planned', 'in-progress', 'failed', 'passed', 'closed']

function Card({ task }: { task: TaskView }) {
  const isMovable = columnIds.some((to) => boardMove(task, to))
  const { setNodeRef, listeners, isDragging } = useDraggable({ id: task.id, disabled: !isMovable })
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.altKey ? { ArrowLeft: -1, ArrowRight: 1 }[event.key] : undefined
    if (!step) return
    event.preventDefault()
    void carryOut(task, nextMove(task, step))
  }
  return (
    <Link
      ref={setNodeRef}
      to="/p/$projectId/t/$taskId"
      params={{ projectId: task.projectId, taskId: task.id }}
      draggable={false}
      {...listeners}
      onKeyDown={onKeyDown}
      aria-keyshortcuts={isMovable ? 'Alt+ArrowLeft Alt+ArrowRight' : undefined}
      className={classes('block rounded-md', isDragging && 'opacity-40')}
    >
      <CardBody task={task} />
    </Link>
  )
}

function CardBody({ task }: { task: TaskView }) {
  const standing = standingOf(task)
  return (
    <span className="block rounded-md border bg-surface p-2.5 hover:border-line-strong">
      <span className="flex items-start gap-2">
        <span className="flex h-5 items-center">
          <StatusDot task={task} silent />
        </span>
        <span className="line-clamp-2 min-w-0 flex-1 font-medium">{task.title}</span>
      </span>
      {task.doing ? <span className="mt-1 block truncate pl-4 text-ink-2 text-sm">{task.doing}</span> : null}
      <span className="mt-2 flex flex-wrap items-center gap-2 pl-4 text-ink-3 text-sm">
        <Badge tone={standing.tone}>{standing.label}</Badge>
        {task.costUsd > 0 ? <Money usd={task.costUsd} className="ml-auto" /> : <span className="ml-auto" />}
        {task.lastAt ? <Age at={task.lastAt} /> : null}
      </span>
    </span>
  )
}

/** Into the nearest column on that side that the card can go to. */
function nextMove(task: TaskView, step: number): BoardMove | undefined {
  const place = boardColumns([task]).findIndex(({ tasks }) => tasks.length > 0)
  const onTheWay = step > 0 ? columnIds.slice(place + 1) : columnIds.slice(0, place).reverse()
  return onTheWay.map((to) => boardMove(task, to)).find((move) => move !== undefined)
}

async function carryOut(task: TaskView, move: BoardMove | undefined): Promise<void> {
  if (!move) return
  const at = { projectId: task.projectId, taskId: task.id }
  try {
    if (move === 'plan') await client.updateTask({ ...at, body: { status: 'pending' } })
    else if (move === 'close') await client.closeTask(at)
    else await client.sendMessage({ ...at, body: { text: openingOf(task) } })
    sayDone({ start: 'Started', plan: 'Planned again', close: 'Closed' }[move], task.title)
  } catch (error) {
    sayFailure(error)
  }
}

/** Whoever has not heard anything yet hears what is to be done. */
function openingOf({ lastSeq, description, title }: TaskView): string {
  return lastSeq > 0 ? 'Please go on.' : description.trim() || title
}
