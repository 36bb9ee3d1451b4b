import { MatrixError, printableLine, type TaskNode } from '@matrix/protocol'
import type { Notice, Tree } from './tree.ts'

/** Questions to a tree. Every task id may be shortened to its first 8 or more characters. */
export type TreeView = {
  root(): TaskNode
  get(id: string): TaskNode
  find(id: string): TaskNode | undefined
  /** Every task, parents before their children, children in their order. */
  list(): TaskNode[]
  children(id: string): TaskNode[]
  /** The tasks above, nearest first. */
  ancestors(id: string): TaskNode[]
  /** The task and everything below it, parents first. */
  subtree(id: string): TaskNode[]
  /** How many agents stand above the task: 0 for the root; folders do not count. */
  depth(id: string): number
  notices(): Notice[]
  readonly size: number
}

export function viewTree(tree: Tree): TreeView {
  const get = (id: string) => getTask(tree, id)
  const root = () => getRoot(tree)
  const subtree = (id: string) => walk(tree, get(id))
  const ancestors = (id: string) => walkUp(tree, get(id))
  return {
    root,
    get,
    find: (id) => findTask(tree, id),
    list: () => walk(tree, root()),
    children: (id) => get(id).children.flatMap((child) => tree.tasks.get(child) ?? []),
    ancestors,
    subtree,
    depth: (id) => ancestors(id).filter((task) => !task.folder).length,
    notices: () => [...tree.notices.values()],
    get size() {
      return tree.tasks.size
    },
  }
}

const prefixShape = /^[0-7][0-9A-HJKMNP-TV-Z]{7,25}$/

function getTask(tree: Tree, id: string): TaskNode {
  const task = findTask(tree, id)
  if (!task) throw new MatrixError('TASK_UNKNOWN', `No task ${printableLine(id.slice(0, 40))}`)
  return task
}

function findTask(tree: Tree, id: string): TaskNode | undefined {
  // Nearly every lookup is by a whole id; only what a person typed needs a closer look.
  const known = tree.tasks.get(id)
  if (known) return known
  const prefix = id.toUpperCase()
  if (!prefixShape.test(prefix))
    throw new MatrixError('TASK_ID_MALFORMED', `Not a task id: ${printableLine(id.slice(0, 40)) || 'empty'}`)
  if (prefix.length === 26) return tree.tasks.get(prefix)

  const matches = [...tree.tasks.values()].filter((task) => task.id.startsWith(prefix))
  if (matches.length > 1) throw ambiguous(prefix, matches)
  return matches[0]
}

// Ids that start alike were created within the same second, so the person needs to see what tells them apart.
function ambiguous(prefix: string, matches: TaskNode[]): MatrixError {
  const named = matches.slice(0, 5).map((task) => `${task.id} (${printableLine(task.title.slice(0, 60))})`)
  const more = matches.length > named.length ? ` and ${matches.length - named.length} more` : ''
  return new MatrixError('TASK_AMBIGUOUS', `${prefix} is the start of ${named.join(', ')}${more}`)
}

function getRoot(tree: Tree): TaskNode {
  for (const task of tree.tasks.values()) if (task.parentId === null) return task
  throw new MatrixError('TREE_MISSING', 'The tree has no root')
}

function walk(tree: Tree, from: TaskNode): TaskNode[] {
  const found: TaskNode[] = []
  const open = [from]
  for (let task = open.pop(); task; task = open.pop()) {
    found.push(task)
    for (let index = task.children.length - 1; index >= 0; index -= 1) {
      const child = tree.tasks.get(task.children[index] as string)
      if (child) open.push(child)
    }
  }
  return found
}

function walkUp(tree: Tree, from: TaskNode): TaskNode[] {
  const found: TaskNode[] = []
  for (let id = from.parentId; id !== null; ) {
    const task = getTask(tree, id)
    found.push(task)
    id = task.parentId
  }
  return found
}
