import { basename, join } from 'node:path'
import { TaskNode } from '@matrix/protocol'
import * as z from 'zod'
import { type Disk, nodeDisk } from './disk.ts'
import { decodeText, isMissing, removeFile, replaceFile } from './durable-file.ts'
import { refuseLinks } from './links.ts'
import { definedFields, fieldsOf, withoutFields } from './removable-field.ts'
import type { TaskTree } from './task-tree.ts'
import type { TreeChange } from './tree.ts'
import type { TreeView } from './tree-view.ts'

/** What a persistent task is, apart from how far it has come: this travels with the repository. */
export const PersistentTask = TaskNode.pick({
  id: true,
  title: true,
  description: true,
  budgetUsd: true,
  budgetTokens: true,
  budgetMinutes: true,
  color: true,
  createdAt: true,
}).extend({ version: z.literal(1), persistent: z.enum(['reset', 'continue']) })
export type PersistentTask = z.infer<typeof PersistentTask>

/** A definition that could not be used, and why. The others are not affected. */
export type DefinitionProblem = { file: string; problem: string }

/** The folder `.mxd/tasks` of one checkout. */
export type Definitions = {
  read(): Promise<{ tasks: PersistentTask[]; problems: DefinitionProblem[] }>
  /** Writes what these changes make of the definitions. */
  follow(changes: TreeChange[], view: TreeView): Promise<void>
}

const maxBytes = 1024 * 1024

export function openDefinitions(checkout: string, { disk = nodeDisk }: { disk?: Disk } = {}): Definitions {
  const parent = join(checkout, '.mxd')
  const directory = join(parent, 'tasks')
  return {
    read: () => readAll(disk, parent, directory),
    async follow(changes, view) {
      for (const [id, task] of definitionsAfter(changes, view)) {
        const file = join(directory, `${id}.json`)
        await refuseLinks(disk, parent, directory)
        if (task) await writeDefinition(disk, directory, file, task)
        else await removeFile(disk, file)
      }
    },
  }
}

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

async function readAll(disk: Disk, parent: string, directory: string) {
  await refuseLinks(disk, parent, directory)
  const names = await disk.list(directory).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  const tasks: PersistentTask[] = []
  const problems: DefinitionProblem[] = []
  for (const name of names.filter((name) => name.endsWith('.json')).toSorted()) {
    const file = join(directory, name)
    const read = await readDefinition(disk, file)
    if ('problem' in read) problems.push({ file, problem: read.problem })
    else tasks.push(read)
  }
  return { tasks, problems }
}

// Whoever wrote the repository wrote this file, so it is believed about nothing but the task it describes.
async function readDefinition(disk: Disk, file: string): Promise<PersistentTask | { problem: string }> {
  if ((await disk.kind(file)) !== 'file') return { problem: 'it is not a regular file' }
  const content = await disk.read(file)
  if (content.length > maxBytes) return { problem: `it is larger than ${maxBytes} bytes` }
  let value: unknown
  try {
    value = JSON.parse(decodeText(content))
  } catch {
    return { problem: 'it is not JSON' }
  }
  const task = PersistentTask.safeParse(value)
  if (!task.success) return { problem: `${task.error.issues[0]?.path.join('.')}: ${task.error.issues[0]?.message}` }
  if (basename(file) !== `${task.data.id}.json`) return { problem: `it describes task ${task.data.id}` }
  return task.data
}

async function writeDefinition(disk: Disk, directory: string, file: string, task: PersistentTask): Promise<void> {
  const text = `${JSON.stringify(task, null, 2)}\n`
  const current = await disk.read(file).catch(() => undefined)
  if (current && decodeText(current) === text) return
  await disk.makeDirectory(directory)
  await replaceFile(disk, file, text)
}

/** Which definitions change, and what to; `undefined` stands for none. */
function definitionsAfter(changes: TreeChange[], view: TreeView): Map<string, PersistentTask | undefined> {
  const after = new Map<string, PersistentTask | undefined>()
  for (const change of changes) {
    if (change.do === 'add' && change.task.persistent) after.set(change.task.id, definitionOf(change.task))
    if (change.do === 'remove')
      for (const task of view.subtree(change.id)) if (task.persistent) after.set(task.id, undefined)
    if (change.do === 'set') {
      const before = view.find(change.id)
      const task = before && { ...withoutFields(before, change.unset ?? []), ...change.fields }
      if (before?.persistent || task?.persistent) after.set(change.id, task && definitionOf(task as TaskNode))
    }
  }
  return after
}

function definitionOf(task: TaskNode): PersistentTask | undefined {
  const { id, title, description, persistent, createdAt } = task
  if (!persistent) return undefined
  return {
    version: 1,
    id,
    title,
    description,
    persistent,
    ...fieldsOf({ ...task, skills: undefined }),
    createdAt,
  }
}

function differs(definition: PersistentTask, task: TaskNode | undefined): boolean {
  if (!task) return false
  const names = ['title', 'description', 'persistent', ...definedFields] as const
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
  const unset = definedFields.filter((name) => task?.[name] !== undefined && !(name in fields))
  return { do: 'set', id, fields: { ...fields, updatedAt }, ...(unset.length > 0 && { unset }) }
}
