import {
  type BudgetKind,
  budgetKinds,
  canFollow,
  type EditedBy,
  everyBudgetKind,
  MatrixError,
  mergeSources,
  type Persistence,
  printableLine,
  type TaskBudgets,
  TaskNode,
  type TaskStatus,
  type UntrustedSource,
} from '@matrix/protocol'
import { fieldsOf, removableFields, withoutFields } from './removable-field.ts'
import type { Plan, TaskTree } from './task-tree.ts'
import type { Notice, TreeChange } from './tree.ts'
import type { TreeView } from './tree-view.ts'

/** Who asks. Only a person's changes are told to the tasks above: an agent knows what it did. */
export type Editor = { editedBy: EditedBy }

export type TaskInput = TaskBudgets & {
  /** Chosen by whoever must be able to ask again without making a second one. */
  id?: string
  title: string
  description?: string
  folder?: true
  status?: 'draft' | 'pending'
  persistent?: Persistence
  color?: string
  agent?: string
  skills?: string[]
  /** What untrusted content had been read where these words were written. */
  untrusted?: readonly UntrustedSource[]
  /** Place among its siblings; last when left out. */
  at?: number
}

/** `null` takes an optional value away. */
export type TaskEdit = { [Name in keyof TaskBudgets]?: number | null } & {
  title?: string
  description?: string
  status?: TaskStatus
  persistent?: Persistence
  color?: string | null
  skills?: string[] | null
  /** Moves the task, with all below it, under another parent. */
  parentId?: string
}

/** What whoever runs agents learns about a task as it works. Nobody is notified and nobody counts as its editor. */
export type TaskFacts = {
  status?: TaskStatus
  branch?: string | null
  worktreePath?: string | null
  /** The agent that the user has chosen for it. */
  agent?: string
  /** What was spent since the last time. */
  add?: Partial<Record<BudgetKind, number>>
  /** What untrusted content has come into its conversation or its description. */
  untrusted?: readonly UntrustedSource[]
  /** Skills that came with a conversation. */
  skills?: string[]
}

/** What became of the conversation: `discard` means that the next run starts with an empty one. */
export type Closed = { task: TaskNode; session: 'keep' | 'discard' }

export const defaultMaxDepth = 5

export async function createTask(
  tree: TaskTree,
  parentId: string,
  input: TaskInput,
  { editedBy, maxDepth = defaultMaxDepth }: Editor & { maxDepth?: number },
): Promise<TaskNode> {
  return tree.change((view) => {
    const parent = view.get(parentId)
    const task = newNode(tree, parent, input, editedBy)
    checkPlace(view, task, parent, maxDepth)
    const at = Math.min(Math.max(0, Math.trunc(input.at ?? parent.children.length)), parent.children.length)
    return plan(tree, view, task, { editedBy, verb: 'was created' }, [{ do: 'add', task, at }])
  })
}

export async function updateTask(
  tree: TaskTree,
  id: string,
  edit: TaskEdit,
  { editedBy, maxDepth = defaultMaxDepth }: Editor & { maxDepth?: number },
): Promise<TaskNode> {
  return tree.change((view) => {
    const before = view.get(id)
    const after = edited(before, edit, editedBy, tree.now())
    checkStatusMove(before, after.status)
    if (after.status !== before.status) refuseRunning(tree, [before], before, `set to ${after.status}`)
    const parent = edit.parentId === undefined ? undefined : view.get(edit.parentId)
    if (parent) checkMove(view, after, parent, maxDepth)
    else if (before.parentId !== null) checkPlace(view, after, view.get(before.parentId), maxDepth)

    const changes: TreeChange[] = [setAll(before, after)]
    if (parent && parent.id !== before.parentId)
      changes.push({ do: 'move', id: before.id, parentId: parent.id, at: parent.children.length })
    return plan(
      tree,
      view,
      { ...after, parentId: parent?.id ?? before.parentId },
      { editedBy, verb: 'was changed' },
      changes,
    )
  })
}

/** What may be done to a task for good: everything but the root ends, and a folder has no beginning to go back to. */
export function checkEnding(task: TaskNode, verb: 'closed' | 'deleted' | 'reset'): void {
  // A reset keeps the sub tasks: the root's conversation begins anew above them.
  if (verb === 'reset') refuseFolder(task, verb)
  else refuseRoot(task, verb)
}

/**
 * Ends a task for good, or until its next cycle when it is persistent. Refuses while it or anything below it runs; what was in
 * progress below it is so no longer.
 */
export async function closeTask(tree: TaskTree, id: string, { editedBy }: Editor): Promise<Closed> {
  return tree.change((view) => {
    const before = view.get(id)
    checkEnding(before, 'closed')
    refuseRunning(tree, view.subtree(before.id), before, 'closed')
    const status: TaskStatus = before.persistent ? 'pending' : 'closed'
    const session = before.persistent === 'reset' ? 'discard' : 'keep'
    const task = {
      ...before,
      ...(session === 'discard' && inherited(before)),
      status,
      editedBy,
      updatedAt: tree.now(),
    }
    const planned = plan(tree, view, task, { editedBy, verb: 'was closed' }, [
      setAll(before, task),
      ...interruptBelow(tree, view, before),
    ])
    return { changes: planned.changes, result: { task, session } }
  })
}

/**
 * Takes a task and everything below it out of the tree, and answers with what was removed, so that it can be tidied up. What
 * that has cost is kept by the task above.
 */
export async function deleteTask(tree: TaskTree, id: string, { editedBy }: Editor): Promise<TaskNode[]> {
  return tree.change((view) => {
    const task = view.get(id)
    checkEnding(task, 'deleted')
    refuseRunning(tree, view.subtree(task.id), task, 'deleted')
    const removed = view.subtree(task.id)
    const planned = plan(tree, view, task, { editedBy, verb: 'was deleted' }, [
      ...keepCost(view, task, removed),
      { do: 'remove', id: task.id },
    ])
    return { changes: planned.changes, result: removed }
  })
}

/**
 * Brings a task back to its beginning. What it cost stays; its old branch and worktree are in `before`, to be tidied up. What
 * was in progress below it is so no longer.
 */
export async function resetTask(
  tree: TaskTree,
  id: string,
  { editedBy }: Editor,
): Promise<{ task: TaskNode; before: TaskNode }> {
  return tree.change((view) => {
    const before = view.get(id)
    checkEnding(before, 'reset')
    refuseRunning(tree, view.subtree(before.id), before, 'reset')
    const task: TaskNode = {
      ...before,
      status: 'pending',
      branch: null,
      worktreePath: null,
      ...inherited(before),
      editedBy,
      updatedAt: tree.now(),
    }
    const planned = plan(tree, view, task, { editedBy, verb: 'was reset' }, [
      setAll(before, task),
      ...interruptBelow(tree, view, before),
    ])
    return { changes: planned.changes, result: { task, before } }
  })
}

/** Puts the children of a task in a new order, which must name each of them once. */
export async function reorderTasks(
  tree: TaskTree,
  parentId: string,
  childIds: string[],
  { editedBy }: Editor,
): Promise<TaskNode> {
  return tree.change((view) => {
    const parent = view.get(parentId)
    const children = childIds.map((id) => view.get(id).id)
    checkOrder(parent, children)
    const task = { ...parent, children, editedBy, updatedAt: tree.now() }
    const changes: TreeChange[] = [{ do: 'order', id: parent.id, children }, setAll(parent, task)]
    return plan(tree, view, task, { editedBy, verb: 'has its tasks in a new order' }, changes)
  })
}

/** Keeps what an agent's work brought about. Cost only ever grows. */
export async function recordTask(tree: TaskTree, id: string, facts: TaskFacts): Promise<TaskNode> {
  return tree.change((view) => {
    const before = view.get(id)
    const { add = {}, status = before.status, branch = before.branch, worktreePath = before.worktreePath } = facts
    const untrusted = mergeSources(before.untrusted ?? [], facts.untrusted ?? [])
    const spent = everyBudgetKind.flatMap((kind) => {
      const more = add[kind] ?? 0
      if (!Number.isFinite(more) || more < 0) throw invalid(`a cost of ${more}`)
      const field = budgetKinds[kind].spent
      return more === 0 ? [] : [[field, (before[field] ?? 0) + more]]
    })
    checkStatusMove(before, status)
    const task = checked({
      ...before,
      status,
      branch,
      worktreePath,
      ...(facts.agent !== undefined && { agent: facts.agent }),
      ...Object.fromEntries(spent),
      ...(untrusted.length > (before.untrusted?.length ?? 0) && { untrusted }),
      ...(facts.skills && { skills: facts.skills }),
      updatedAt: tree.now(),
    })
    return { changes: [setAll(before, task)], result: task }
  })
}

/** Says that a notice has reached the conversation of a task above, so that it is not offered again. */
export async function acknowledgeNotice(tree: TaskTree, noticeId: string): Promise<void> {
  return tree.change((view) => {
    const isPending = view.notices().some((notice) => notice.id === noticeId)
    return { changes: isPending ? [{ do: 'delivered', id: noticeId }] : [], result: undefined }
  })
}

/** What its own conversation read goes with that conversation; what came with its description or from others stays. */
function inherited({ id, untrusted }: TaskNode): Pick<TaskNode, 'untrusted'> {
  return untrusted ? { untrusted: untrusted.filter(({ taskId }) => taskId !== id) } : {}
}

/** Nobody works for a task that is closed or starts over. */
function interruptBelow(tree: TaskTree, view: TreeView, task: TaskNode): TreeChange[] {
  const below = view.subtree(task.id).filter(({ id, status }) => id !== task.id && status === 'in_progress')
  return below.map(({ id }) => ({ do: 'set', id, fields: { status: 'pending', updatedAt: tree.now() } }))
}

/** What deleted tasks have spent stays spent for the tasks above. */
function keepCost(view: TreeView, { parentId }: TaskNode, removed: TaskNode[]): TreeChange[] {
  if (parentId === null) return []
  const parent = view.get(parentId)
  const fields = everyBudgetKind.flatMap((kind) => {
    const names = budgetKinds[kind]
    const sum = removed.reduce((total, task) => total + (task[names.spent] ?? 0) + (task[names.removed] ?? 0), 0)
    return sum === 0 ? [] : [[names.removed, (parent[names.removed] ?? 0) + sum]]
  })
  return fields.length === 0 ? [] : [{ do: 'set', id: parentId, fields: Object.fromEntries(fields) }]
}

type Happening = { editedBy: EditedBy; verb: string }

function plan(
  tree: TaskTree,
  view: TreeView,
  task: TaskNode,
  happening: Happening,
  changes: TreeChange[],
): Plan<TaskNode> {
  const notice = happening.editedBy === 'user' ? noticeOf(tree, view, task, happening.verb) : undefined
  return { changes: notice ? [...changes, { do: 'notice', notice }] : changes, result: task }
}

function noticeOf(tree: TaskTree, view: TreeView, task: TaskNode, verb: string): Notice | undefined {
  if (task.parentId === null) return undefined
  const above = [view.get(task.parentId), ...view.ancestors(task.parentId)]
  const ancestors = above.filter((ancestor) => !ancestor.folder).map((ancestor) => ancestor.id)
  const kind = task.folder ? 'Folder' : 'Task'
  return {
    id: `tree/${tree.newId()}`,
    changedTaskId: task.id,
    summary: `${kind} "${printableLine(task.title)}" ${verb} by the user.`,
    ancestors,
  }
}

function newNode(tree: TaskTree, parent: TaskNode, input: TaskInput, editedBy: EditedBy): TaskNode {
  const at = tree.now()
  const { id = tree.newId(), title, description = '', folder, persistent = false, agent, untrusted = [] } = input
  const { status = 'pending' } = input
  return checked({
    id,
    title: title.trim(),
    description,
    status: folder ? 'draft' : status,
    branch: null,
    parentId: parent.id,
    children: [],
    worktreePath: null,
    costUsd: 0,
    editedBy,
    persistent,
    createdAt: at,
    updatedAt: at,
    ...(folder && { folder }),
    ...fieldsOf(input),
    ...(agent !== undefined && { agent }),
    ...(untrusted.length > 0 && { untrusted }),
  })
}

function edited(before: TaskNode, edit: TaskEdit, editedBy: EditedBy, updatedAt: string): TaskNode {
  return checked({
    ...withoutFields(before, removableFields),
    ...fieldsOf({ ...fieldsOf(before), ...fieldsOf(edit, { nulls: true }) }),
    title: edit.title?.trim() ?? before.title,
    description: edit.description ?? before.description,
    status: edit.status ?? before.status,
    persistent: edit.persistent ?? before.persistent,
    editedBy,
    updatedAt,
  })
}

/** The change that makes one node into the other. Only what differs is written. */
function setAll(before: TaskNode, after: TaskNode): TreeChange {
  const { id, children, parentId, createdAt, ...fields } = after
  const changed = Object.entries(fields).filter(([name, value]) => before[name as keyof TaskNode] !== value)
  const unset = removableFields.filter((name) => name in before && !(name in after))
  return { do: 'set', id, fields: Object.fromEntries(changed), ...(unset.length > 0 && { unset }) }
}

function checked(node: unknown): TaskNode {
  const parsed = TaskNode.safeParse(node)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw invalid(`${issue?.path.join('.')}: ${issue?.message}`)
}

function checkPlace(view: TreeView, task: TaskNode, parent: TaskNode, maxDepth: number): void {
  if (task.folder && task.persistent) throw invalid('persistent: a folder never runs')
  if (task.persistent && [parent, ...view.ancestors(parent.id)].filter((above) => !above.folder).length > 1)
    throw invalid('persistent: only a task directly under the root can be persistent')
  if (task.folder) return
  const depth = view.depth(parent.id) + (parent.folder ? 0 : 1)
  if (depth > maxDepth)
    throw new MatrixError(
      'TASK_DEPTH',
      `"${printableLine(task.title)}" would be ${depth} levels deep; ${maxDepth} are allowed`,
    )
}

function checkMove(view: TreeView, task: TaskNode, parent: TaskNode, maxDepth: number): void {
  refuseRoot(task, 'moved')
  const moved = view.subtree(task.id)
  if (moved.some((below) => below.id === parent.id)) throw invalid('parentId: a task cannot hang below itself')
  const levels =
    Math.max(0, ...moved.filter((below) => !below.folder).map((below) => view.depth(below.id))) - view.depth(task.id)
  checkPlace(view, task, parent, maxDepth - levels)
}

function checkStatusMove(task: TaskNode, to: TaskStatus): void {
  if (task.status === to) return
  refuseFolder(task, `set to ${to}`)
  if (!canFollow(task.status, to))
    throw new MatrixError('TASK_STATUS', `${nameOf(task)} is ${task.status} and cannot become ${to}`)
}

function checkOrder(parent: TaskNode, order: string[]): void {
  const named = new Map(order.map((id, index) => [id, index]))
  const children = new Set(parent.children)
  const missing = parent.children.filter((id) => !named.has(id))
  const foreign = order.filter((id) => !children.has(id))
  const twice = order.filter((id, index) => named.get(id) !== index)
  const problems = [
    ...missing.map((id) => `${id} is left out`),
    ...foreign.map((id) => `${id} is not a child`),
    ...twice.map((id) => `${id} is named twice`),
  ]
  if (problems.length > 0)
    throw new MatrixError('TASK_ORDER', `The order does not fit ${nameOf(parent)}: ${problems.slice(0, 5).join(', ')}`)
}

function refuseRoot(task: TaskNode, verb: string): void {
  if (task.parentId === null)
    throw new MatrixError('TASK_STATUS', `The root task cannot be ${verb}`, { hint: 'Name a task below the root.' })
}

function refuseFolder(task: TaskNode, verb: string): void {
  if (task.folder)
    throw new MatrixError('TASK_STATUS', `${nameOf(task)} is a folder and cannot be ${verb}`, {
      hint: 'Name a task inside the folder.',
    })
}

function refuseRunning(tree: TaskTree, tasks: TaskNode[], task: TaskNode, verb: string): void {
  const running = tasks.find(({ id }) => tree.session(id))
  if (!running) return
  const where = running.id === task.id ? 'it is' : `${nameOf(running)} below it is`
  throw new MatrixError('TASK_STATUS', `${nameOf(task)} cannot be ${verb} while ${where} running`, {
    hint: 'Stop the running task first.',
  })
}

function nameOf(task: TaskNode): string {
  return `Task ${task.id} "${printableLine(task.title.slice(0, 60))}"`
}

function invalid(what: string): MatrixError {
  return new MatrixError('TASK_INVALID', `Not a valid task: ${what}`)
}
