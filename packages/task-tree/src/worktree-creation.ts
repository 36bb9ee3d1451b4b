import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { readBranch } from './branch-files.ts'
import { checkBranchName, checkTaskId, taskBranch } from './branch-name.ts'
import type { Disk } from './disk.ts'
import { storageError } from './durable-file.ts'
import { dropGitFolder } from './git-folder-removal.ts'
import { type GitStatus, syncGit } from './git-sync.ts'
import type { Repository } from './repository.ts'
import type { SandboxGit } from './sandbox-git.ts'
import { endLeftoverSetup, type SetupEffect, type SetupPlace, settleSetup } from './setup.ts'
import type { Snapshot } from './snapshot.ts'
import { dropRecord, findAdminFolders, type Places, type WorktreeRecord, writeRecord } from './worktree-place.ts'
import { isolateSettings } from './worktree-settings.ts'

/** A task's own checkout on its own branch. */
export type Worktree = {
  taskId: string
  path: string
  branch: string
  commit: string
  /** What its setup did to files that git sees, if it has just been made. */
  setup?: SetupEffect
}

export type CreateOptions = {
  taskId: string
  title: string
  /** The branch that the root task stores; never guessed. */
  baseBranch: string
  /** Brings back the files of a snapshot as uncommitted changes on the commit it was taken from. */
  from?: Snapshot
  /** Makes the new worktree ready to work in. When it throws, nothing is left of the worktree. */
  setUp?: (place: SetupPlace) => Promise<void>
  signal?: AbortSignal
}

/** What creating and removing need. `metadata` runs one at a time what touches git's list of worktrees. */
export type WorktreeWork = {
  disk: Disk
  repository: Repository
  places: Places
  newId: () => string
  now: () => Date
  metadata<T>(work: () => Promise<T>): Promise<T>
  /** Lets a few worktrees be filled with files side by side. */
  filling<T>(work: () => Promise<T>): Promise<T>
  /** Absent where agents have no sandbox: then their git is the user's own. */
  sandbox: SandboxGit | undefined
  /** Branches that the agent of a task may see beside its own. */
  branchesFor: (taskId: string) => readonly string[]
  /** Where the hooks are that an agent's commits run, or an empty name. */
  hooks: () => Promise<string>
  /** What the agents' git directories said when they were last looked at. */
  seen: Map<string, { text: string; status: GitStatus }>
  /** Commits that were refused, so that the same ones are not checked again and again. */
  refusals: Map<string, { mine: string; theirs: string; error: MatrixError }>
}

type CreateRecord = Extract<WorktreeRecord, { doing: 'create' }>

/** Makes a worktree that is ready to work in, or leaves nothing of it behind. */
export async function createWorktree(work: WorktreeWork, options: CreateOptions): Promise<Worktree> {
  const { disk, places } = work
  const { taskId, signal } = options
  signal?.throwIfAborted()
  await refuseObstacle(work, taskId)
  const record = await planCreation(work, options)
  let setup: SetupEffect | undefined
  try {
    await makeFilled(work, record, options)
    setup = await setUp(work, record, options)
  } catch (error) {
    await undoCreation(work, taskId, record)
    throw error
  }
  await dropRecord(disk, places, taskId)
  const { branch, commit } = record
  return { taskId, path: places.worktree(taskId), branch, commit, ...(setup && { setup }) }
}

/** Takes back a creation that failed or was interrupted. Nobody has worked in it: it was never handed out. */
export async function undoCreation(work: WorktreeWork, taskId: string, record: CreateRecord): Promise<void> {
  const { disk, places, repository } = work
  const path = places.worktree(taskId)
  await endLeftoverSetup(places.processFile(taskId), path)
  await disk.removeTree(path)
  await clearFilling(work, taskId)
  await removeAdmin(work, taskId)
  // Where the branch was there before, its agent may have left something in its git directory.
  if (record.createsBranch) await dropGitFolder(work, taskId)

  const ref = `refs/heads/${record.branch}`
  // A git that was killed leaves its lock. The branch is this task's alone, and the record says that we were making it.
  if (record.createsBranch) await disk.remove(join(repository.gitDir, `${ref}.lock`)).catch(() => {})
  if (record.createsBranch && (await repository.findCommit(ref)) === record.commit)
    await repository.refs(['update-ref', '--stdin'], { input: `delete ${ref} ${record.commit}\n` })
  await dropRecord(disk, places, taskId)
}

/** Makes git forget the worktree of a task; its files are not touched. */
export async function removeAdmin({ disk, repository, places, metadata }: WorktreeWork, taskId: string): Promise<void> {
  await metadata(async () => {
    for (const folder of await findAdminFolders(disk, repository, places, taskId)) await disk.removeTree(folder.path)
  })
}

export type Tip = { name: string; commit: string }

/** The task's branches with their commits: a task that was renamed keeps the branch it has. */
export async function findTaskBranches(repository: Repository, taskId: string): Promise<Tip[]> {
  return listBranches(repository, `mxd/${checkTaskId(taskId)}/`)
}

async function listBranches(repository: Repository, ...names: string[]): Promise<Tip[]> {
  const patterns = names.map((name) => `refs/heads/${name}`)
  const { text } = await repository.refs(['for-each-ref', '--format=%(objectname) %(refname:lstrip=2)', ...patterns])
  const lines = text().split('\n').filter(Boolean)
  return lines.map((line) => ({ commit: line.slice(0, line.indexOf(' ')), name: line.slice(line.indexOf(' ') + 1) }))
}

async function planCreation({ disk, repository }: WorktreeWork, options: CreateOptions): Promise<CreateRecord> {
  const { taskId, title, baseBranch, from } = options
  const isNew = { doing: 'create', branch: taskBranch(taskId, title), createsBranch: true } as const
  const start = await readBranch(disk, repository, baseBranch, { without: `mxd/${checkTaskId(taskId)}` })
  if (start) return { ...isNew, commit: from?.head ?? start }

  const own = `mxd/${taskId}/`
  const found = await listBranches(repository, own, checkBranchName(baseBranch))
  const existing = found.find(({ name }) => name.startsWith(own))
  if (existing) return { doing: 'create', branch: existing.name, createsBranch: false, commit: existing.commit }

  const base = found.find(({ name }) => name === baseBranch)?.commit
  const commit = from?.head ?? base ?? (await repository.getBranch(baseBranch))
  return { ...isNew, commit }
}

async function refuseObstacle({ disk, places }: WorktreeWork, taskId: string): Promise<void> {
  const path = places.worktree(taskId)
  if ((await disk.kind(path)) !== 'missing')
    throw new MatrixError('WORKTREE_OBSTRUCTED', `${path} exists, but git knows no worktree there`)
}

/** git gets to know the worktree while its files are written elsewhere; then they are put in their place. */
async function makeFilled(work: WorktreeWork, record: CreateRecord, options: CreateOptions): Promise<void> {
  const failed = new AbortController()
  const signal = AbortSignal.any([failed.signal, ...(options.signal ? [options.signal] : [])])
  const stopOther = (error: unknown) => {
    failed.abort(error)
    throw error
  }
  const adding = addMetadata(work, options.taskId, record, signal)
  const filling = fillFolder(work, record, { ...options, signal })
  // Both have ended before anything is taken back: whoever still writes would leave something behind.
  const ends = await Promise.allSettled([adding.catch(stopOther), filling.catch(stopOther)])
  for (const end of ends) if (end.status === 'rejected') throw failed.signal.reason
  await putInPlace(work, options.taskId)
}

async function addMetadata(
  work: WorktreeWork,
  taskId: string,
  record: CreateRecord,
  signal: AbortSignal,
): Promise<void> {
  const { disk, repository, places, metadata } = work
  await writeRecord(disk, places, taskId, record)
  const path = places.worktree(taskId)
  const target = record.createsBranch
    ? ['--no-track', '-b', record.branch, '--end-of-options', path, record.commit]
    : ['--end-of-options', path, record.branch]
  // Several at once read each other's half-written folders and fail. Alone, without files and without waiting for the disk
  // this takes milliseconds.
  const args = ['-c', 'core.fsync=none', 'worktree', 'add', '--no-checkout', ...target]
  await metadata(() => repository.refs(args, { signal })).catch((error) => {
    throw alreadyElsewhere(error, record.branch)
  })
  await keepBranch(work, record)
  const admin = await getAdmin(work, taskId)
  await metadata(() => isolateSettings(disk, repository, admin))
}

/** Makes a new branch survive a power cut, while the files are written. One that git keeps elsewhere is git's to keep. */
async function keepBranch({ disk, repository }: WorktreeWork, { branch, createsBranch }: CreateRecord): Promise<void> {
  const refs = join(repository.gitDir, 'refs')
  const ref = join(refs, 'heads', branch)
  if (!createsBranch || (await disk.kind(ref)) !== 'file') return
  try {
    const paths = [ref]
    for (let path = dirname(ref); path !== refs; path = dirname(path)) paths.push(path)
    // At once, so that they share one wait for the disk.
    await Promise.all(paths.map((path) => disk.syncDirectory(path)))
  } catch (error) {
    throw storageError(error, ref)
  }
}

async function fillFolder(work: WorktreeWork, { commit }: CreateRecord, options: CreateOptions): Promise<void> {
  const { disk, repository, places } = work
  const { files, index } = places.filling(options.taskId)
  await clearFilling(work, options.taskId)
  await disk.makeDirectory(files, 0o777)
  const place = {
    workTree: files,
    env: { GIT_INDEX_FILE: index },
    timeoutMs: 30 * 60_000,
    signal: options.signal,
  }
  const args = ['read-tree', '--reset', '-u', '--end-of-options', options.from?.commit ?? commit]
  await work.filling(() => repository.files(args, place))
  if (options.from) await repository.files(['read-tree', '--reset', '--end-of-options', commit], place)
}

/** Nobody has worked in what was not put in its place yet, so it may go without a record of it. */
export async function clearFilling({ disk, places }: WorktreeWork, taskId: string): Promise<void> {
  const { files, index } = places.filling(taskId)
  await Promise.all([files, index, `${index}.lock`].map((path) => disk.removeTree(path)))
}

async function putInPlace(work: WorktreeWork, taskId: string): Promise<void> {
  const { disk, places } = work
  const { files, index } = places.filling(taskId)
  const path = places.worktree(taskId)
  try {
    // The repository may lie on another file system.
    await copyFile(index, join(await getAdmin(work, taskId), 'index'))
    await disk.rename(join(path, '.git'), join(files, '.git'))
    // Takes the place of an empty folder and of nothing else.
    await disk.rename(files, path)
    await disk.remove(index)
  } catch (error) {
    throw storageError(error, path)
  }
}

async function getAdmin({ disk, repository, places }: WorktreeWork, taskId: string): Promise<string> {
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  if (!admin) throw new MatrixError('GIT_FAILED', `git made no worktree at ${places.worktree(taskId)}`)
  return admin.path
}

async function setUp(
  work: WorktreeWork,
  { branch }: CreateRecord,
  { taskId, baseBranch, from, setUp: run, signal }: CreateOptions,
): Promise<SetupEffect | undefined> {
  // git works in a setup as it does in the agent's shell.
  await syncGit(work, taskId)
  if (!run) return undefined
  const place = placeOfSetup(work, { taskId, branch, baseBranch })
  await run(place)
  signal?.throwIfAborted()
  // The files of a snapshot differ from the commit on purpose.
  const effect = from ? undefined : await settleSetup(work, place, await getAdmin(work, taskId))
  // What is kept out of commits is kept out of the agent's as well.
  if (effect && effect.excluded.length > 0) await syncGit(work, taskId)
  return effect
}

export function placeOfSetup(
  { repository, places }: WorktreeWork,
  task: Pick<SetupPlace, 'taskId' | 'branch' | 'baseBranch'>,
): SetupPlace {
  return {
    ...task,
    worktree: places.worktree(task.taskId),
    repository: repository.checkout ?? repository.gitDir,
    processFile: places.processFile(task.taskId),
  }
}

function alreadyElsewhere(error: unknown, branch: string): unknown {
  const where = error instanceof MatrixError && /already checked out at '(.+)'/.exec(error.message)?.[1]
  if (!where) return error
  return new MatrixError('BRANCH_CHECKED_OUT', `${branch} is checked out in ${printableLine(where)}`, { cause: error })
}
