import { join } from 'node:path'
import { MatrixError, TaskNode } from '@matrix/protocol'
import { monotonicFactory } from 'ulid'
import { type Disk, type DiskFile, nodeDisk } from './disk.ts'
import { decodeText, isMissing, replaceFile, storageError, writeWhole } from './durable-file.ts'
import type { Definitions } from './persistent-task.ts'
import { applyChange, emptyTree, type Tree, type TreeChange } from './tree.ts'
import { damaged, formatTree, parseTree, type SavedTree } from './tree-file.ts'
import { formatEntry, type Journal, parseJournal } from './tree-journal.ts'
import { type TreeView, viewTree } from './tree-view.ts'

export type TreeOptions = {
  disk?: Disk
  now?: () => Date
  newId?: () => string
  /** Above this size the file is not rewritten for each change: changes go to a journal beside it. */
  journalAboveBytes?: number
  /** How long the journal grows, at least, before the file is rewritten and the journal emptied. */
  compactAboveBytes?: number
  /** Where the definitions of persistent tasks are kept; without it they live in the tree only. */
  definitions?: Definitions
}

/** What a mutation wants done, and what to answer once that is on disk. */
export type Plan<T> = { changes: TreeChange[]; result: T }

/** The one tree of a project, cached in memory. `Session` is whatever lives only while an agent runs; it is never saved. */
export type TaskTree<Session = unknown> = TreeView & {
  readonly file: string
  now(): string
  newId(): string
  /** The one door for mutations: one at a time, decided on the tree as it is then, answered when durable. */
  change<T>(decide: (tree: TreeView) => Plan<T> | Promise<Plan<T>>): Promise<T>
  session(id: string): Session | undefined
  attachSession(id: string, session: Session): void
  detachSession(id: string): void
  close(): Promise<void>
}

const treeName = 'tree.json'
const journalName = 'tree.journal.jsonl'

/** Starts a tree with its root, which is on disk before this answers. Refuses where there is one already. */
export async function createTree<Session>(
  directory: string,
  root: { title: string; baseBranch: string; description?: string },
  options: TreeOptions = {},
): Promise<TaskTree<Session>> {
  const { disk, now, newId } = withDefaults(options)
  const file = join(directory, treeName)
  await disk.makeDirectory(directory)
  if ((await disk.kind(file)) !== 'missing' || (await disk.kind(join(directory, journalName))) !== 'missing')
    throw new MatrixError('TREE_DAMAGED', `${file} exists already`, { hint: 'Open the tree instead of creating it.' })

  const tree = emptyTree()
  applyChange(tree, { do: 'add', task: rootNode(root, newId(), now().toISOString()), at: 0 })
  await replaceFile(disk, file, formatTree({ seq: 0, tree }))
  return openTree(directory, options)
}

/** Opens a tree, or says in its error whether the file is missing, truncated or damaged, and which file it is. */
export async function openTree<Session>(directory: string, options: TreeOptions = {}): Promise<TaskTree<Session>> {
  const settings = withDefaults(options)
  const paths = { directory, file: join(directory, treeName), journal: join(directory, journalName) }
  const saved = await readTree(settings.disk, paths)
  return keepTree<Session>(saved, paths, settings)
}

/**
 * Writes a tree anew from tasks known from elsewhere, after a loss. Files in the way are kept beside it. A task whose parent
 * is unknown hangs under the root, and the first task without a parent is the root.
 */
export async function rebuildTree<Session>(
  directory: string,
  tasks: TaskNode[],
  options: TreeOptions = {},
): Promise<TaskTree<Session>> {
  const { disk, now } = withDefaults(options)
  const stamp = now().toISOString().replaceAll(':', '-')
  const tree = relink(tasks)
  await disk.makeDirectory(directory)
  // tree.json goes first: after a crash in between, a journal alone is seen as damage, a tree alone would pass for whole.
  for (const name of [treeName, journalName]) await setAside(disk, join(directory, name), stamp)
  await replaceFile(disk, join(directory, treeName), formatTree({ seq: 0, tree }))
  return openTree(directory, options)
}

type Settings = Required<Omit<TreeOptions, 'definitions'>> & { definitions: Definitions | undefined }
type Paths = { directory: string; file: string; journal: string }
type Loaded = SavedTree & { journalBytes: number; treeBytes: number }

function withDefaults(options: TreeOptions): Settings {
  return {
    disk: options.disk ?? nodeDisk,
    now: options.now ?? (() => new Date()),
    newId: options.newId ?? monotonicFactory(),
    journalAboveBytes: options.journalAboveBytes ?? 256 * 1024,
    compactAboveBytes: options.compactAboveBytes ?? 64 * 1024,
    definitions: options.definitions,
  }
}

async function readTree(disk: Disk, { directory, file, journal }: Paths): Promise<Loaded> {
  const content = await readOptional(disk, file)
  const lines = await readOptional(disk, journal)
  if (!content && lines) throw damaged(file, `it is gone, while its journal ${journal} is there`)
  if (!content) throw new MatrixError('TREE_MISSING', `There is no ${file}`)

  const saved = parseTree(decodeText(content), file)
  const { entries, bytes } = parseJournal(lines ?? Buffer.alloc(0), journal)
  const seq = replay(saved, entries, journal)
  await settle(disk, { directory, file, journal }, lines ? { bytes, torn: bytes < lines.length } : undefined)
  return { seq, tree: saved.tree, journalBytes: bytes, treeBytes: content.length }
}

// Lines that are already in tree.json are left over from a crash between writing it and emptying the journal.
function replay(saved: SavedTree, entries: Journal['entries'], journal: string): number {
  let { seq } = saved
  for (const [index, entry] of entries.entries()) {
    if (entry.seq <= seq) continue
    if (entry.seq !== seq + 1) throw damaged(`${journal}:${index + 1}`, `line ${seq + 1} is missing`)
    try {
      for (const change of entry.changes) applyChange(saved.tree, change)
    } catch (error) {
      throw damaged(`${journal}:${index + 1}`, (error as Error).message, error)
    }
    seq = entry.seq
  }
  return seq
}

// After a crash of the process, what was read may be in memory only. Nobody may act on it before it is on the disk.
async function settle(disk: Disk, paths: Paths, journal?: { bytes: number; torn: boolean }): Promise<void> {
  try {
    await onFile(disk, paths.file, (file) => file.sync())
    if (journal)
      await onFile(disk, paths.journal, async (file) => {
        if (journal.torn) await file.truncate(journal.bytes)
        await file.sync()
      })
    await disk.syncDirectory(paths.directory)
  } catch (error) {
    throw storageError(error, paths.file)
  }
}

function keepTree<Session>(loaded: Loaded, paths: Paths, settings: Settings): TaskTree<Session> {
  const { tree } = loaded
  const view = viewTree(tree)
  const store = openStore(loaded, paths, settings)
  const sessions = new Map<string, Session>()
  let tail: Promise<unknown> = Promise.resolve()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = tail.then(work)
    tail = turn.catch(() => {})
    return turn
  }

  return Object.assign(Object.create(view) as TreeView, {
    file: paths.file,
    now: () => settings.now().toISOString(),
    newId: settings.newId,
    change: <T>(decide: (tree: TreeView) => Plan<T> | Promise<Plan<T>>) =>
      inTurn(async () => {
        const { changes, result } = await decide(view)
        if (changes.length === 0) return result
        // Definitions first: on the next start the tree follows them, never the reverse.
        await settings.definitions?.follow(changes, view)
        await store.commit(changes)
        return result
      }),
    session: (id: string) => sessions.get(view.get(id).id),
    attachSession: (id: string, session: Session) => void sessions.set(view.get(id).id, session),
    detachSession: (id: string) => void sessions.delete(view.get(id).id),
    close: () => inTurn(() => store.close()),
  })
}

/** Puts changes on disk first and into memory after, so that nobody sees a change that a crash could take back. */
function openStore(loaded: Loaded, paths: Paths, { disk, journalAboveBytes, compactAboveBytes }: Settings) {
  const { tree } = loaded
  let { seq, journalBytes, treeBytes } = loaded
  let journal: DiskFile | undefined
  let broken: MatrixError | undefined

  async function commit(changes: TreeChange[]): Promise<void> {
    if (broken) throw broken
    try {
      if (treeBytes <= journalAboveBytes && journalBytes === 0) await rewriteWith(changes)
      else await appendChanges(changes)
    } catch (error) {
      const failure = storageError(error, paths.file)
      if (failure.code !== 'STORAGE_FULL') broken = failure
      throw failure
    }
  }

  async function rewriteWith(changes: TreeChange[]): Promise<void> {
    const next = { tasks: new Map(tree.tasks), notices: new Map(tree.notices) }
    for (const change of changes) applyChange(next, change)
    await rewrite(next, seq + 1)
    seq += 1
    for (const change of changes) applyChange(tree, change)
  }

  async function appendChanges(changes: TreeChange[]): Promise<void> {
    const line = Buffer.from(formatEntry({ seq: seq + 1, changes }))
    journal ??= await openJournal()
    await appendDurably(journal, line)
    journalBytes += line.length
    seq += 1
    for (const change of changes) applyChange(tree, change)
    if (journalBytes > Math.max(treeBytes / 4, compactAboveBytes)) await compact(journal)
  }

  async function openJournal(): Promise<DiskFile> {
    const file = await disk.open(paths.journal, 'update')
    await disk.syncDirectory(paths.directory)
    return file
  }

  async function appendDurably(file: DiskFile, line: Buffer): Promise<void> {
    try {
      await writeWhole(file, line, journalBytes)
      await file.sync()
    } catch (error) {
      const failure = storageError(error, paths.journal)
      // A part of the line left behind would be glued to the next one. If it cannot be cut off, nothing may follow it.
      if (failure.code === 'STORAGE_FULL') await cutBack(file)
      throw failure
    }
  }

  async function cutBack(file: DiskFile): Promise<void> {
    try {
      await file.truncate(journalBytes)
      await file.sync()
    } catch (error) {
      throw new MatrixError('STORAGE_FAILED', `Could not cut ${paths.journal} back to its last whole line`, {
        cause: error,
      })
    }
  }

  // The change that led here is durable already: a full disk only postpones this, and the journal grows on.
  async function compact(file: DiskFile): Promise<void> {
    try {
      await rewrite(tree, seq)
      await file.truncate(0)
      await file.sync()
      journalBytes = 0
    } catch (error) {
      const failure = storageError(error, paths.file)
      if (failure.code !== 'STORAGE_FULL') broken = failure
    }
  }

  async function rewrite(next: Tree, nextSeq: number): Promise<void> {
    const content = Buffer.from(formatTree({ seq: nextSeq, tree: next }))
    await replaceFile(disk, paths.file, content)
    treeBytes = content.length
  }

  async function close(): Promise<void> {
    broken ??= new MatrixError('STORAGE_FAILED', `${paths.file} was closed`, { hint: 'Open the tree again.' })
    await journal?.close()
    journal = undefined
  }

  return { commit, close }
}

function rootNode(root: { title: string; baseBranch: string; description?: string }, id: string, at: string): TaskNode {
  const node = TaskNode.safeParse({
    id,
    title: root.title.trim(),
    description: root.description ?? '',
    status: 'pending',
    branch: null,
    baseBranch: root.baseBranch,
    parentId: null,
    children: [],
    worktreePath: null,
    costUsd: 0,
    editedBy: 'user',
    persistent: false,
    createdAt: at,
    updatedAt: at,
  })
  if (!node.success) throw new MatrixError('TASK_INVALID', `The root task: ${node.error.issues[0]?.message}`)
  return node.data
}

function relink(tasks: TaskNode[]): Tree {
  const known = new Map(tasks.map((task) => [task.id, TaskNode.parse(task)]))
  const root = [...known.values()].find((task) => task.parentId === null)
  if (!root)
    throw new MatrixError('TREE_MISSING', 'None of the tasks is a root', { hint: 'Add the root task to the list.' })

  const tree: Tree = emptyTree()
  applyChange(tree, { do: 'add', task: root, at: 0 })
  const rest = orderLike(known, root)
  for (const task of rest) {
    const parentId = task.parentId !== null && tree.tasks.has(task.parentId) ? task.parentId : root.id
    applyChange(tree, { do: 'add', task: { ...task, parentId }, at: tree.tasks.get(parentId)?.children.length ?? 0 })
  }
  return tree
}

// Parents before children, children as their parents list them, then whatever no parent lists, oldest first.
function orderLike(known: Map<string, TaskNode>, root: TaskNode): TaskNode[] {
  const ordered = new Set<TaskNode>()
  const visit = (id: string) => {
    const task = known.get(id)
    if (!task || ordered.has(task)) return
    ordered.add(task)
    const unlisted = [...known.values()].filter((other) => other.parentId === id && !task.children.includes(other.id))
    for (const child of task.children) if (known.get(child)?.parentId === id) visit(child)
    for (const child of unlisted.toSorted((a, b) => (a.id < b.id ? -1 : 1))) visit(child.id)
  }
  visit(root.id)
  for (const id of [...known.keys()].toSorted()) visit(id)
  ordered.delete(root)
  return [...ordered]
}

async function setAside(disk: Disk, path: string, stamp: string): Promise<void> {
  if ((await disk.kind(path)) === 'missing') return
  await disk.rename(path, `${path}.${stamp}`)
}

async function readOptional(disk: Disk, path: string): Promise<Uint8Array | undefined> {
  try {
    return await disk.read(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new MatrixError('STORAGE_FAILED', `Could not read ${path} (${code})`, { cause: error })
  }
}

async function onFile(disk: Disk, path: string, work: (file: DiskFile) => Promise<void>): Promise<void> {
  const file = await disk.open(path, 'update')
  try {
    await work(file)
  } finally {
    await file.close()
  }
}
