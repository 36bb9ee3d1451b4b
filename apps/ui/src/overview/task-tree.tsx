import {
  DndContext,
  type DragMoveEvent,
  DragOverlay,
  MouseSensor,
  pointerWithin,
  TouchSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core'
import type { TaskView } from '@matrix/protocol/http'
import { useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { toggleCollapsed } from '../app/preferences.ts'
import { sayFailure } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { type DropPlace, type Move, planMove, planStep } from './task-move.ts'
import { TaskRow } from './task-row.tsx'
import type { TreeRow } from './tree-rows.ts'

type Tasks = Readonly<Record<string, TaskView>>
type TaskTreeProps = { projectId: string; tasks: Tasks; rows: readonly TreeRow[]; isMovable: boolean }
type Drop = { targetId: string; place: DropPlace }

const rowHeight = 36

/** Only the rows in sight are drawn. One row has the focus; arrows move it, and with Alt they move the task itself. */
export function TaskTree({ projectId, tasks, rows, isMovable }: TaskTreeProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [focusedId, setFocusedId] = useState<string>()
  const { onKeyDown, isSteered } = useTreeKeys({ projectId, tasks, rows, focusedId, setFocusedId, isMovable })
  const drag = useTreeDrag(projectId, tasks)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    getItemKey: (index) => rows[index]?.task.id ?? index,
  })
  const focusedPlace = rows.findIndex(({ task }) => task.id === focusedId)
  useEffect(() => {
    if (!isSteered.current || focusedPlace < 0) return
    virtual.scrollToIndex(focusedPlace)
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>('[role=treeitem][tabindex="0"]')?.focus())
  }, [focusedPlace, virtual, isSteered])

  return (
    <DndContext {...drag.handlers} sensors={drag.sensors} collisionDetection={pointerWithin}>
      <div ref={scroller} className="min-h-0 flex-1 overflow-auto">
        <ColumnHeads />
        <div
          role="tree"
          aria-label="Tasks"
          tabIndex={-1}
          onKeyDown={onKeyDown}
          className="relative"
          style={{ height: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map(({ index, start, key }) => {
            const row = rows[index]
            return row ? (
              <div
                key={key}
                role="presentation"
                className="absolute inset-x-0"
                style={{ transform: `translateY(${start}px)`, height: rowHeight }}
              >
                <TaskRow
                  row={row}
                  isFocused={focusedPlace === index || (focusedPlace < 0 && index === 0)}
                  onFocus={setFocusedId}
                  isMovable={isMovable && row.task.parentId !== null}
                  movedId={drag.movedId}
                  drop={drag.drop?.targetId === row.task.id ? drag.drop.place : undefined}
                />
              </div>
            ) : null
          })}
        </div>
      </div>
      <DragOverlay dropAnimation={null}>
        {drag.movedId ? (
          <div className="max-w-72 truncate rounded-md border bg-raised px-3 py-1.5 shadow-lift">
            {tasks[drag.movedId]?.title}
          </div>
        ) : null}
      </DragOverlay>
    </DndContext>
  )
}

function ColumnHeads() {
  return (
    <div
      aria-hidden
      className="sticky top-0 z-10 flex h-7 items-center gap-3 border-b bg-canvas px-4 text-ink-3 text-xs max-md:hidden"
    >
      <span className="flex-1">Task</span>
      <span className="w-28">How it stands</span>
      <span className="w-[22%] max-xl:hidden">Doing</span>
      <span className="w-44 max-lg:hidden">Branch</span>
      <span className="w-16 text-right">Cost</span>
      <span className="w-14 text-right">Last heard</span>
    </div>
  )
}

type KeysOptions = TaskTreeProps & { focusedId: string | undefined; setFocusedId: (id: string) => void }

function useTreeKeys({ projectId, tasks, rows, focusedId, setFocusedId, isMovable }: KeysOptions) {
  const navigate = useNavigate()
  const isSteered = useRef(false)
  const place = Math.max(
    rows.findIndex(({ task }) => task.id === focusedId),
    0,
  )
  const row = rows[place]

  const go = (to: number) => {
    const next = rows[Math.min(Math.max(to, 0), rows.length - 1)]
    if (next) setFocusedId(next.task.id)
  }
  const commands: Record<string, () => void> = {
    ArrowDown: () => go(place + 1),
    ArrowUp: () => go(place - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    ArrowRight: () => (row?.hasChildren && !row.isOpen ? toggleCollapsed(row.task.id) : go(place + 1)),
    ArrowLeft: () => {
      if (row?.hasChildren && row.isOpen) toggleCollapsed(row.task.id)
      else go(rows.findIndex(({ task }) => task.id === row?.task.parentId))
    },
    Enter: () => {
      if (row?.task.folder) toggleCollapsed(row.task.id)
      else if (row) void navigate({ to: '/p/$projectId/t/$taskId', params: { projectId, taskId: row.task.id } })
    },
  }
  const steps = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'out', ArrowRight: 'in' } as const

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.altKey && isMovable ? steps[event.key as keyof typeof steps] : undefined
    if (step && row) void carryOut(projectId, planStep(tasks, row.task.id, step))
    else if (!event.altKey && commands[event.key]) commands[event.key]?.()
    else return
    isSteered.current = true
    event.preventDefault()
  }
  return { onKeyDown, isSteered }
}

function useTreeDrag(projectId: string, tasks: Tasks) {
  const [movedId, setMovedId] = useState<string>()
  const [drop, setDrop] = useState<Drop>()
  const sensors = useSensors(
    useSensor(MouseSensor, { activationConstraint: { distance: 6 } }),
    // A finger that scrolls must not move tasks.
    useSensor(TouchSensor, { activationConstraint: { delay: 300, tolerance: 6 } }),
  )
  const end = () => {
    setMovedId(undefined)
    setDrop(undefined)
  }
  const aim = (event: DragMoveEvent) => setDrop(dropOf(event, tasks))
  const handlers = {
    onDragStart: ({ active }: { active: { id: string | number } }) => setMovedId(String(active.id)),
    onDragMove: aim,
    // Rows are made ready when the first one is lifted: a mouse that already rests on its target does not move again.
    onDragOver: aim,
    onDragCancel: end,
    onDragEnd: () => {
      if (movedId && drop) void carryOut(projectId, planMove(tasks, movedId, drop.targetId, drop.place))
      end()
    },
  }
  return { movedId, drop, sensors, handlers }
}

/** The upper quarter of a row means before it, the lower one after it, and between them inside. */
function dropOf({ active, over, activatorEvent, delta }: DragMoveEvent, tasks: Tasks): Drop | undefined {
  if (!over) return undefined
  const startY = activatorEvent instanceof MouseEvent ? activatorEvent.clientY : touchY(activatorEvent)
  const share = (startY + delta.y - over.rect.top) / over.rect.height
  const place = share < 0.25 ? 'before' : share > 0.75 ? 'after' : 'inside'
  const targetId = String(over.id)
  return planMove(tasks, String(active.id), targetId, place) ? { targetId, place } : undefined
}

function touchY(event: Event): number {
  return event instanceof TouchEvent ? (event.touches[0]?.clientY ?? 0) : 0
}

async function carryOut(projectId: string, move: Move | undefined): Promise<void> {
  if (!move) return
  const { taskId, parentId, children, isNewParent } = move
  try {
    if (isNewParent) await client.updateTask({ projectId, taskId, body: { parentId } })
    await client.reorderTasks({ projectId, taskId: parentId, body: { children } })
  } catch (error) {
    sayFailure(error)
  }
}
