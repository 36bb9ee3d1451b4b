import { basename } from 'node:path'
import type { TaskNode } from '@matrix/protocol'
import type { DefinitionProblem, Definitions, PersistentTask } from './persistent-task.ts'
import { removableFields } from './removable-field.ts'
import type { TaskTree } from './task-tree.ts'
import type { TreeChange } from './tree.ts'

/** Brings the tree in line with the files: a pull may have added, changed or taken away definitions. */
export async function adoptDefinitions(
  tree: TaskTree,
  definitions: Definitions,
): Promise<{ added: string[]; changed: string[]; released: string[]; problems: DefinitionProblem[] }> {
  const { tasks, problems } = await definitions.read()
  return tree.change((view) => {
    const root = view.root()
    const known = new Map(view.list().map((task) => [task.id, task]))
    const defined = new Set(tasks.map((task) => task.id))
    const unreadable = new Set(problems.map(({ file }) => basename(file, '.json')))

    const added = tasks.filter((task) => !known.has(task.id))
    const changed = tasks.filter((task) => differs(task, known.get(task.id)))
    const released = [...known.values()].filter(
      (task) => task.persistent && !defined.has(task.id) && !unreadable.has(task.id),
    )
    const changes: TreeChange[] = [
      ...added.map((task, index) => addition(task, root, index, tree.now())),
      ...changed.map((task) => adoption(task, known.get(task.id), tree.now())),
      ...released.map((task): TreeChange => ({ do: 'set', id: task.id, fields: { persistent: false } })),
    ]
    const ids = (list: { id: string }[]) => list.map((task) => task.id)
    return { changes, result: { added: ids(added), changed: ids(changed), released: ids(released), problems } }
  })
}

function differs(definition: PersistentTask, task: TaskNode | undefined): boolean {
  if (!task) return false
  const names = ['title', 'description', 'persistent', ...removableFields] as const
  return names.some((name) => definition[name] !== task[name])
}

function addition({ version, ...definition }: PersistentTask, root: TaskNode, index: number, now: string): TreeChange {
  const task: TaskNode = {
    ...definition,
    status: 'pending',
    branch: null,
    parentId: root.id,
    children: [],
    worktreePath: null,
    costUsd: 0,
    editedBy: 'user',
    updatedAt: now,
  }
  return { do: 'add', task, at: root.children.length + index }
}

function adoption(definition: PersistentTask, task: TaskNode | undefined, updatedAt: string): TreeChange {
  const { version, id, createdAt, ...fields } = definition
  const unset = removableFields.filter((name) => task?.[name] !== undefined && !(name in fields))
  return { do: 'set', id, fields: { ...fields, updatedAt }, ...(unset.length > 0 && { unset }) }
}
