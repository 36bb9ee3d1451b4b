import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { type FileChange, openWorktrees, type Snapshot, type Worktrees } from '@matrix/task-tree'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

type SnapshotOptions = { repository?: string; json?: boolean }

/** Every snapshot of a repository, oldest first. */
export async function listSnapshots(options: SnapshotOptions & { task?: string }): Promise<ExitCode> {
  const found = await withWorktrees(options, (worktrees) => worktrees.snapshots())
  // Any beginning of a task's id will do, as it is shown everywhere.
  const snapshots = found.filter(({ taskId }) => taskId.startsWith(options.task?.toUpperCase() ?? ''))
  if (options.json) printJson(snapshots)
  else print(snapshots.length === 0 ? 'No snapshots.' : snapshots.map(format).join('\n'))
  return exitCode.ok
}

/** What one snapshot is, and which files it holds beyond the commit it was taken on. */
export async function showSnapshot(name: string, options: SnapshotOptions): Promise<ExitCode> {
  const { snapshot, files } = await withWorktrees(options, async (worktrees) => {
    const snapshot = await findSnapshot(worktrees, name)
    return { snapshot, files: await worktrees.snapshotChanges(snapshot.name) }
  })
  if (options.json) printJson({ ...snapshot, files })
  else
    print(
      [...describe(snapshot), '', ...(files.length === 0 ? [committed(snapshot)] : files.map(formatFile))].join('\n'),
    )
  return exitCode.ok
}

/** Writes the files of a snapshot into a new folder; nothing else is touched. */
export async function restoreSnapshot(name: string, folder: string, options: SnapshotOptions): Promise<ExitCode> {
  const target = resolve(folder)
  const snapshot = await withWorktrees(options, async (worktrees) =>
    worktrees.restore((await findSnapshot(worktrees, name)).name, target),
  )
  if (options.json) printJson({ ...snapshot, folder: target })
  else print(`Restored ${snapshot.name} to ${printableLine(target)}`)
  return exitCode.ok
}

// Snapshots are in the repository itself. What git needs besides it is made for this one command and taken away again.
async function withWorktrees<Result>(
  { repository = '.' }: SnapshotOptions,
  act: (worktrees: Worktrees) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'matrix-snapshots-'))
  try {
    return await act(await openWorktrees({ repository, directory }))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function findSnapshot(worktrees: Worktrees, beginning: string): Promise<Snapshot> {
  const wanted = beginning.toUpperCase()
  const found = (await worktrees.snapshots()).filter(({ name }) => name.startsWith(wanted))
  const [snapshot, other] = found.filter(({ name }) => name === wanted || wanted.length >= 8)
  if (snapshot && !other) return snapshot
  if (!snapshot) throw new MatrixError('SNAPSHOT_UNKNOWN', `No snapshot ${printableLine(beginning.slice(0, 60))}`)
  throw new MatrixError('SNAPSHOT_UNKNOWN', `${found.length} snapshots begin with ${wanted}`, {
    hint: `Write more of the name, such as ${snapshot.name}.`,
  })
}

function format({ name, takenAt, taskId, branch, reason }: Snapshot): string {
  const { bold, dim } = colorsFor(process.stdout)
  return [bold(name), takenAt, taskId, printableLine(branch ?? '(no branch)'), dim(printableLine(reason))].join('  ')
}

function describe({ name, takenAt, taskId, branch, head, commit, reason }: Snapshot): string[] {
  const { bold } = colorsFor(process.stdout)
  return [
    bold(name),
    `task    ${taskId}`,
    `taken   ${takenAt}`,
    `why     ${printableLine(reason)}`,
    `branch  ${printableLine(branch ?? '(none)')}`,
    `on      ${head ?? '(nothing)'}`,
    `commit  ${commit}`,
  ]
}

/** A branch whose work was committed is kept by a snapshot that adds nothing to it. */
function committed({ head }: Snapshot): string {
  return head ? `Nothing beyond the commit that it is on. What was committed: git log -p ${head}` : 'No changes.'
}

const marks = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R', retyped: 'T' } as const

function formatFile({ status, path, oldPath, additions, deletions }: FileChange): string {
  const from = oldPath === undefined ? '' : `${printableLine(oldPath)} -> `
  const counts = additions === null ? '' : `  +${additions} -${deletions}`
  return `${marks[status]}  ${from}${printableLine(path)}${counts}`
}
