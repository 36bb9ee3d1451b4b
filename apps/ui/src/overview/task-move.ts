import type { TaskView } from '@matrix/protocol/http'

type Tasks = Readonly<Record<string, TaskView>>
export type DropPlace = 'before' | 'after' | 'inside'

/** Where a task goes: its new parent, and that parent's children in their new order. */
export type Move = { taskId: string; parentId: string; children: string[]; isNewParent: boolean }

/** What dropping one task on another means, or nothing when it means nothing: onto itself, below itself, beside the root. */
export function planMove(tasks: Tasks, movedId: string, targetId: string, place: DropPlace): Move | undefined {
  const moved = tasks[movedId]
  const target = tasks[targetId]
  if (!moved?.parentId || !target || isWithin(tasks, targetId, movedId)) return undefined

  const parentId = place === 'inside' ? target.id : target.parentId
  const parent = parentId ? tasks[parentId] : undefined
  if (!parentId || !parent) return undefined

  const others = parent.children.filter((id) => id !== movedId)
  const at = place === 'inside' ? others.length : others.indexOf(targetId) + (place === 'after' ? 1 : 0)
  const children = others.toSpliced(at, 0, movedId)
  const isNewParent = moved.parentId !== parentId
  if (!isNewParent && children.join() === parent.children.join()) return undefined
  return { taskId: movedId, parentId, children, isNewParent }
}

/** One step by keyboard: up and down among its siblings, out of its parent, or into the sibling above. */
export function planStep(tasks: Tasks, id: string, direction: 'up' | 'down' | 'out' | 'in'): Move | undefined {
  const parentId = tasks[id]?.parentId
  const siblings = (parentId && tasks[parentId]?.children) || []
  const above = siblings[siblings.indexOf(id) - 1]
  const below = siblings[siblings.indexOf(id) + 1]
  if (direction === 'up') return above ? planMove(tasks, id, above, 'before') : undefined
  if (direction === 'down') return below ? planMove(tasks, id, below, 'after') : undefined
  if (direction === 'in') return above ? planMove(tasks, id, above, 'inside') : undefined
  return parentId ? planMove(tasks, id, parentId, 'after') : undefined
}

function isWithin(tasks: Tasks, id: string, aboveId: string): boolean {
  for (let at: string | null | undefined = id; at; at = tasks[at]?.parentId) if (at === aboveId) return true
  return false
}
