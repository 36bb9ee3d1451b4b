import { TaskId, TaskNode } from '@matrix/protocol'
import * as z from 'zod'
import { RemovableField } from './removable-field.ts'

/** Words for the tasks above one that a person changed, kept until they are delivered. */
export const Notice = z.object({
  id: z.string().min(1),
  changedTaskId: TaskId,
  summary: z.string(),
  /** The tasks above, nearest first; folders are left out. */
  ancestors: z.array(TaskId),
})
export type Notice = z.infer<typeof Notice>

const Fields = TaskNode.omit({ id: true, children: true, parentId: true, createdAt: true }).partial()

/** One step from a tree to the next. The journal holds these, so a shipped shape never changes meaning. */
export const TreeChange = z.discriminatedUnion('do', [
  z.object({ do: z.literal('add'), task: TaskNode, at: z.int().nonnegative() }),
  z.object({ do: z.literal('set'), id: TaskId, fields: Fields, unset: z.array(RemovableField).optional() }),
  z.object({ do: z.literal('move'), id: TaskId, parentId: TaskId, at: z.int().nonnegative() }),
  z.object({ do: z.literal('remove'), id: TaskId }),
  z.object({ do: z.literal('order'), id: TaskId, children: z.array(TaskId) }),
  z.object({ do: z.literal('notice'), notice: Notice }),
  z.object({ do: z.literal('delivered'), id: z.string() }),
])
export type TreeChange = z.infer<typeof TreeChange>

/** The tree in memory. Nodes are replaced and never edited, so whoever holds one holds a moment of the tree. */
export type Tree = { tasks: Map<string, TaskNode>; notices: Map<string, Notice> }

export function emptyTree(): Tree {
  return { tasks: new Map(), notices: new Map() }
}

/** Carries out one step. A step that does not fit the tree throws and must stop the journal it came from. */
export function applyChange(tree: Tree, change: TreeChange): void {
  switch (change.do) {
    case 'add':
      addTask(tree, change.task, change.at)
      break
    case 'set':
      setFields(tree, change)
      break
    case 'move':
      moveTask(tree, change)
      break
    case 'remove':
      removeTask(tree, change.id)
      break
    case 'order':
      putTask(tree, { ...nodeOf(tree, change.id), children: [...change.children] })
      break
    case 'notice':
      tree.notices.set(change.notice.id, change.notice)
      break
    case 'delivered':
      tree.notices.delete(change.id)
      break
    default:
      change satisfies never
  }
}

/** Says what is wrong with the links between tasks, or nothing when each task hangs in exactly one place under one root. */
export function findBrokenLink(tree: Tree): string | undefined {
  const roots = [...tree.tasks.values()].filter((task) => task.parentId === null)
  if (roots.length !== 1) return `there are ${roots.length} tasks without a parent instead of one`

  const reached = new Set<string>()
  const open = roots.map((root) => root.id)
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (reached.has(id)) return `task ${id} hangs in two places`
    reached.add(id)
    for (const childId of tree.tasks.get(id)?.children ?? []) {
      const child = tree.tasks.get(childId)
      if (!child) return `task ${id} has the child ${childId}, which does not exist`
      if (child.parentId !== id) return `task ${childId} hangs under ${id} but names ${child.parentId} as its parent`
      open.push(childId)
    }
  }
  const lost = [...tree.tasks.keys()].find((id) => !reached.has(id))
  return lost && `task ${lost} cannot be reached from the root`
}

function nodeOf(tree: Tree, id: string): TaskNode {
  const node = tree.tasks.get(id)
  if (!node) throw new Error(`task ${id} does not exist`)
  return node
}

function putTask(tree: Tree, task: TaskNode): void {
  tree.tasks.set(task.id, task)
}

function addTask(tree: Tree, task: TaskNode, at: number): void {
  if (tree.tasks.has(task.id)) throw new Error(`task ${task.id} exists already`)
  if (task.parentId !== null) linkChild(tree, task.parentId, task.id, at)
  putTask(tree, { ...task, children: [] })
}

function setFields(tree: Tree, change: Extract<TreeChange, { do: 'set' }>): void {
  const task = { ...nodeOf(tree, change.id) }
  for (const name of change.unset ?? []) delete task[name]
  putTask(tree, Object.assign(task, change.fields))
}

function moveTask(tree: Tree, { id, parentId, at }: Extract<TreeChange, { do: 'move' }>): void {
  unlinkChild(tree, id)
  linkChild(tree, parentId, id, at)
  putTask(tree, { ...nodeOf(tree, id), parentId })
}

function removeTask(tree: Tree, id: string): void {
  unlinkChild(tree, id)
  const open = [id]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    open.push(...nodeOf(tree, next).children)
    tree.tasks.delete(next)
  }
}

function linkChild(tree: Tree, parentId: string, childId: string, at: number): void {
  const parent = nodeOf(tree, parentId)
  putTask(tree, { ...parent, children: parent.children.toSpliced(at, 0, childId) })
}

function unlinkChild(tree: Tree, childId: string): void {
  const { parentId } = nodeOf(tree, childId)
  if (parentId === null) throw new Error(`task ${childId} is the root`)
  const parent = nodeOf(tree, parentId)
  putTask(tree, { ...parent, children: parent.children.filter((id) => id !== childId) })
}
