import { dirname, join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import * as z from 'zod'
import { checkTaskId } from './branch-name.ts'
import type { Disk } from './disk.ts'
import { decodeText, isMissing, readFile, removeFile, replaceFile } from './durable-file.ts'
import type { Repository } from './repository.ts'

/** What is being done to a worktree. Written before the first step, taken away after the last: a crash leaves it behind. */
const WorktreeRecord = z.discriminatedUnion('doing', [
  z.object({ doing: z.literal('create'), branch: z.string(), createsBranch: z.boolean(), commit: z.string() }),
  z.object({
    doing: z.literal('remove'),
    aside: z.string(),
    /** Set once everything is in the snapshot or on the branch: from here on the files are only copies. */
    isSaved: z.boolean(),
    snapshot: z.string().nullable(),
    deleteBranch: z.boolean(),
    baseBranch: z.string().nullable(),
    /** The branches to delete, each as it was when it was saved: one that has moved since is left alone. */
    branches: z.array(z.object({ name: z.string(), commit: z.string() })),
    discardNested: z.boolean(),
  }),
])
export type WorktreeRecord = z.infer<typeof WorktreeRecord>

/** Where everything about worktrees is. */
export type Places = {
  readonly directory: string
  /** Matrix's own corner of it: records, files set aside, temporary indexes. */
  readonly own: string
  worktree(taskId: string): string
  record(taskId: string): string
  processFile(taskId: string): string
  /** Where the files of a worktree and their index are written before they are put in their places. */
  filling(taskId: string): { files: string; index: string }
  /** Where a worktree goes before it is deleted. */
  aside(name: string): string
  /** Whether an agent may be at work in a folder: its worktree, also where that was moved to. */
  isAgents(folder: string): boolean
}

export function placesIn(directory: string): Places {
  const own = join(directory, '.matrix')
  return {
    directory,
    own,
    worktree: (taskId) => join(directory, checkTaskId(taskId)),
    record: (taskId) => join(own, 'records', `${checkTaskId(taskId)}.json`),
    processFile: (taskId) => join(own, 'records', `${checkTaskId(taskId)}.pid`),
    filling: (taskId) => ({
      files: join(own, 'filling', checkTaskId(taskId)),
      index: join(own, `index-${checkTaskId(taskId)}`),
    }),
    aside: (name) => join(own, 'aside', name),
    isAgents: (folder) => [directory, join(own, 'aside')].includes(dirname(folder)),
  }
}

export async function readRecord(disk: Disk, places: Places, taskId: string): Promise<WorktreeRecord | undefined> {
  const file = places.record(taskId)
  const content = await readFile(disk, file)
  if (!content) return undefined
  const record = WorktreeRecord.safeParse(parseJson(content))
  if (record.success) return record.data
  throw new MatrixError(
    'WORKTREE_OBSTRUCTED',
    `${file} is damaged, so what was being done to the worktree is unknown`,
    {
      hint: `Look at ${places.worktree(taskId)}, then delete the file.`,
    },
  )
}

export async function writeRecord(disk: Disk, places: Places, taskId: string, record: WorktreeRecord): Promise<void> {
  await replaceFile(disk, places.record(taskId), `${JSON.stringify(record)}\n`)
}

export async function dropRecord(disk: Disk, places: Places, taskId: string): Promise<void> {
  await disk.remove(places.processFile(taskId)).catch(() => {})
  await removeFile(disk, places.record(taskId))
}

/** git's own folder for one worktree, and whether it is complete. Names start with the task's id, so they are ours. */
export type AdminFolder = { path: string; isWhole: boolean }

export async function findAdminFolders(
  disk: Disk,
  repository: Repository,
  places: Places,
  taskId: string,
): Promise<AdminFolder[]> {
  const all = join(repository.gitDir, 'worktrees')
  const names = await disk.list(all).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  const folders: AdminFolder[] = []
  for (const name of names.filter((name) => new RegExp(`^${checkTaskId(taskId)}\\d*$`).test(name))) {
    const path = join(all, name)
    const pointer = await readText(disk, join(path, 'gitdir'))
    const head = await readText(disk, join(path, 'HEAD'))
    // Another project may have a worktree for the same task elsewhere; that one is not ours.
    if (pointer && pointer !== join(places.worktree(taskId), '.git')) continue
    folders.push({
      path,
      isWhole: pointer !== '' && head !== '' && (await readText(disk, join(path, 'commondir'))) !== '',
    })
  }
  return folders
}

/** Nothing where there is no such file; one that cannot be read is an error, because much is decided by what is not there. */
export async function readText(disk: Disk, file: string): Promise<string> {
  const content = await readFile(disk, file)
  return content ? decodeText(content).trim() : ''
}

function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(decodeText(content))
  } catch {
    return undefined
  }
}
