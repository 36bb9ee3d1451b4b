import { lstat, readdir, realpath } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { MatrixError, TaskId, type TaskNode } from '@matrix/protocol'
import { monotonicFactory } from 'ulid'
import { type BranchChanges, type ChangesOptions, type FileChange, listFiles, readChanges } from './branch-changes.ts'
import { checkTaskId } from './branch-name.ts'
import { findHooks, runCommitHooks } from './commit-hooks.ts'
import { type Disk, nodeDisk } from './disk.ts'
import { explainFaults, removeFile, replaceFile } from './durable-file.ts'
import type { Git } from './git.ts'
import { type GitStatus, hasMoved, settleGit, syncGit, taskOfBranch } from './git-sync.ts'
import { type MergeOptions, type MergeResult, mergeBranch, recoverMerge, unclearMerge } from './merge.ts'
import { checkOid, openRepository, type Repository } from './repository.ts'
import type { SandboxGit } from './sandbox-git.ts'
import { endLeftoverSetup, type SetupPlace } from './setup.ts'
import { dropSnapshot, getSnapshot, listSnapshots, readHead, type Snapshot, takeSnapshot } from './snapshot.ts'
import { clearQuarantines } from './take-over.ts'
import { openPlaces, openShared, openTurns } from './turns.ts'
import {
  type CommitOptions,
  type Committed,
  commitWorktree,
  listUncommitted,
  type UpdateOptions,
  updateWorktree,
} from './worktree-commit.ts'
import {
  type CreateOptions,
  clearFilling,
  createWorktree,
  placeOfSetup,
  removeAdmin,
  undoCreation,
  type Worktree,
  type WorktreeWork,
} from './worktree-creation.ts'
import { findAdminFolders, placesIn, readRecord, readText } from './worktree-place.ts'
import { finishRemoval, type Removed, type RemoveOptions, removeWorktree } from './worktree-removal.ts'
import { allowWorktreeSettings, isolateSettings } from './worktree-settings.ts'

export type WorktreesOptions = {
  /** The user's repository, or any folder in it. */
  repository: string
  /** Where the worktrees go: a folder of Matrix's own, outside the repository. */
  directory: string
  git?: Git
  disk?: Disk
  now?: () => Date
  newId?: () => string
  /** How git is run where an agent can write. Without it, agents use the user's own git on the repository itself. */
  sandbox?: SandboxGit | undefined
  /** Branches that the agent of a task may see beside its own. */
  branchesFor?: (taskId: string) => readonly string[]
  /** Whether the repository's commit hooks run in the sandbox; not, when left out. */
  commitHooks?: () => Promise<'skip' | 'run'>
}

/** `creating` and `removing` were interrupted; `unregistered` is a folder git does not know, `missing` the reverse. */
export type WorktreeState = 'ready' | 'creating' | 'removing' | 'unregistered' | 'missing'
export type ListedWorktree = { taskId: string; path: string; branch: string | null; state: WorktreeState }

/** Something that nobody seems to need any more. It stays until someone decides. */
export type StaleWorktree = { taskId: string | null; path: string; why: string }

type Did = 'undid creation' | 'finished removal' | 'led back to the repository' | 'took over commits'

/** What was done about an interrupted step, or why nothing could be: then it stays for the next attempt. */
export type Recovered = { taskId: string | null } & ({ did: Did } | { failed: MatrixError })

export type Worktrees = {
  readonly repository: Repository
  /** Makes the worktree of a task, or gives back the one it has. */
  create(options: CreateOptions): Promise<Worktree>
  /** The worktree of a task, if it is ready to work in. */
  find(taskId: string): Promise<Worktree | undefined>
  /** Where the setup of a worktree that is ready can run again. */
  findSetupPlace(taskId: string, baseBranch: string): Promise<SetupPlace | undefined>
  list(): Promise<ListedWorktree[]>
  /** Saves everything that is not ignored; answers with nothing when the branch holds it all already. */
  snapshot(taskId: string, reason: string): Promise<Snapshot | undefined>
  /** Commits everything that is not ignored, on the branch of the task and in the user's name. */
  commit(options: CommitOptions): Promise<Committed>
  /** Files that differ from the last commit of the branch, ignored ones aside. */
  uncommitted(taskId: string): Promise<string[]>
  /** Whether the agent of a task may have committed or switched branches since the last look. Costs next to nothing. */
  hasMoved(taskId: string): boolean
  /** The state of git in the worktree of a task at the last look. */
  gitStatus(taskId: string): GitStatus | undefined
  /** Takes over what was committed in the sandbox of a task, or brings it what happened to the branch elsewhere. */
  sync(taskId: string): Promise<GitStatus | undefined>
  /** Fails unless the worktree is on the task's branch, with nothing in progress and every commit taken over. */
  settle(taskId: string): Promise<void>
  /** Merges another branch into that of the task, in its worktree. Conflicts stay there with markers, for the next commit to settle. */
  update(options: UpdateOptions): Promise<MergeResult>
  remove(options: RemoveOptions): Promise<Removed>
  snapshots(taskId?: string): Promise<Snapshot[]>
  /** What a snapshot holds beyond the commit it was taken on. */
  snapshotChanges(name: string): Promise<FileChange[]>
  /** Writes the files of a snapshot into a folder that does not exist yet. */
  restore(name: string, folder: string): Promise<Snapshot>
  forgetSnapshot(name: string): Promise<void>
  /** What a branch would bring to its base, and whether it would merge. */
  changes(options: ChangesOptions): Promise<BranchChanges>
  merge(options: MergeOptions): Promise<MergeResult>
  findStale(tasks: readonly TaskNode[]): Promise<StaleWorktree[]>
  diskUse(): Promise<{ taskId: string; bytes: number }[]>
  /**
   * Finishes or takes back what a crash interrupted, and leads worktrees back to a repository that has moved. Call once before
   * anything else works in the worktrees.
   */
  recover(): Promise<Recovered[]>
}

export async function openWorktrees(options: WorktreesOptions): Promise<Worktrees> {
  const { now = () => new Date(), newId = monotonicFactory() } = options
  // Those who want the same folder synced at the same time share it: every sync makes all others who write wait.
  const given = options.disk ?? nodeDisk
  const disk = explainFaults({ ...given, syncDirectory: openShared(given.syncDirectory) })
  await disk.makeDirectory(options.directory)
  const places = placesIn(await realpath(options.directory))
  for (const name of ['records', 'filling', 'aside']) await disk.makeDirectory(join(places.own, name))
  const repository = await openRepository(options.repository, {
    directory: places.own,
    disk,
    ...(options.git && { git: options.git }),
    fence: options.sandbox && { sandbox: options.sandbox, covers: places.isAgents },
  })

  const inTurn = openTurns()
  const forTask = async <T>(taskId: string, act: () => Promise<T>) => inTurn(checkTaskId(taskId), act)
  const work: WorktreeWork = {
    disk,
    repository,
    places,
    now,
    newId,
    metadata: (act) => inTurn('metadata', act),
    filling: openPlaces(Math.max(2, availableParallelism())),
    sandbox: options.sandbox,
    branchesFor: options.branchesFor ?? (() => []),
    hooks: async () => ((await options.commitHooks?.()) === 'run' ? findHooks(disk, repository) : ''),
    seen: new Map(),
    refusals: new Map(),
  }
  const sync = (taskId: string) => forTask(taskId, () => syncGit(work, taskId))
  const syncMoved = async (taskId: string | undefined) => {
    if (!taskId) return undefined
    const status = work.seen.get(taskId)?.status
    return hasMoved(work, taskId) || status?.refused ? sync(taskId) : status
  }
  const merging = { disk, repository, now, recordFile: join(places.own, 'merge.json') }
  const afterMerges = <T>(act: () => Promise<T>) =>
    inTurn('merge', async () => {
      if ((await recoverMerge(merging)) === 'unclear') throw unclearMerge(merging.recordFile)
      return act()
    })

  /** For what changes the branch of a task: both sides agree before it, and again after it. */
  const inStep = <T>(taskId: string, act: () => Promise<T>) =>
    forTask(taskId, async () => {
      await settleGit(work, taskId)
      const result = await act()
      await syncGit(work, taskId)
      return result
    })

  return {
    repository,
    create: (create) =>
      forTask(create.taskId, async () => {
        await recoverTask(work, create.taskId)
        const existing = await findReady(work, create.taskId)
        if (!existing) await forgetMissing(work, create.taskId)
        if (!existing) return createWorktree(work, create)
        await syncGit(work, create.taskId)
        return existing
      }),
    find: (taskId) => forTask(taskId, () => findReady(work, taskId)),
    async findSetupPlace(taskId, baseBranch) {
      const found = await forTask(taskId, () => findReady(work, taskId))
      return found && placeOfSetup(work, { taskId: found.taskId, branch: found.branch, baseBranch })
    },
    list: () => listWorktrees(work),
    snapshot: async (taskId, reason) => {
      await syncMoved(taskId)
      return forTask(taskId, () => snapshotReady(work, taskId, reason))
    },
    commit: (commit) => inStep(commit.taskId, () => commitWithHooks(work, commit)),
    uncommitted: async (taskId) => {
      await syncMoved(taskId)
      return forTask(taskId, () => listUncommitted(work, taskId))
    },
    hasMoved: (taskId) => hasMoved(work, taskId),
    gitStatus: (taskId) => work.seen.get(taskId)?.status,
    sync,
    settle: (taskId) => forTask(taskId, () => settleGit(work, taskId)),
    update: (update) => afterMerges(() => inStep(update.taskId, () => updateWorktree(work, update, merging))),
    remove: (remove) =>
      forTask(remove.taskId, async () => {
        await recoverTask(work, remove.taskId)
        await requireKnown(work, remove.taskId)
        await syncGit(work, remove.taskId)
        return removeWorktree(work, remove)
      }),
    snapshots: (taskId) => listSnapshots(repository, taskId),
    snapshotChanges: async (name) => readSnapshotChanges(repository, await getSnapshot(repository, name)),
    restore: (name, folder) => restoreFiles(work, name, folder),
    forgetSnapshot: (name) => dropSnapshot(repository, name),
    changes: async (changes) => {
      await syncMoved(taskOfBranch(changes.branch))
      return readChanges(repository, changes)
    },
    merge: (merge) =>
      afterMerges(async () => {
        const [from, into] = [taskOfBranch(merge.branch), taskOfBranch(merge.baseBranch)]
        const refused = (await syncMoved(from))?.refused
        if (refused) throw refused
        const act = () => mergeBranch(merging, merge)
        return into ? inStep(into, act) : act()
      }),
    findStale: (tasks) => findStale(work, tasks),
    diskUse: () => measureAll(work),
    recover: async () => {
      const unclear = (await inTurn('merge', () => recoverMerge(merging))) === 'unclear'
      const recovered = await recoverAll(work, forTask)
      return unclear ? [...recovered, { taskId: null, failed: unclearMerge(merging.recordFile) }] : recovered
    },
  }
}

async function commitWithHooks(work: WorktreeWork, commit: CommitOptions): Promise<Committed> {
  const isHooked = (await work.hooks()) !== '' && (await listUncommitted(work, commit.taskId)).length > 0
  const hooked = isHooked ? await runCommitHooks(work, commit.taskId, commit.message) : undefined
  const committed = await commitWorktree(work, { ...commit, ...(hooked && { message: hooked.message }) })
  return hooked ? { ...committed, hooks: hooked.output } : committed
}

function isTaskId(name: string): boolean {
  return TaskId.safeParse(name).success
}

async function recoverAll(
  work: WorktreeWork,
  forTask: <T>(taskId: string, act: () => Promise<T>) => Promise<T>,
): Promise<Recovered[]> {
  const { disk, places } = work
  const names = await disk.list(join(places.own, 'records'))
  const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5))
  const done: Recovered[] = []
  const attempt = async (taskId: string, step: (work: WorktreeWork, taskId: string) => Promise<Did | undefined>) => {
    try {
      const did = await forTask(taskId, () => step(work, taskId))
      if (did) done.push({ taskId, did })
    } catch (error) {
      if (!(error instanceof MatrixError)) throw error
      done.push({ taskId, failed: error })
    }
  }
  for (const taskId of ids.filter(isTaskId)) await attempt(taskId, recoverTask)
  // A setup that ran again in a worktree that was ready may have outlived its process, too.
  for (const taskId of names.flatMap((name) => (name.endsWith('.pid') ? [name.slice(0, -4)] : [])).filter(isTaskId)) {
    await endLeftoverSetup(places.processFile(taskId), places.worktree(taskId))
    await disk.remove(places.processFile(taskId)).catch(() => {})
  }
  const worktrees = (await disk.list(places.directory)).filter(isTaskId)
  if (worktrees.length > 0) await work.metadata(() => allowWorktreeSettings(work.repository))
  for (const taskId of worktrees) {
    await attempt(taskId, leadBack)
    await attempt(taskId, isolate)
  }
  for (const taskId of (await disk.list(places.directory)).filter(isTaskId))
    if (hasMoved(work, taskId)) await attempt(taskId, takeOverLeft)
  await clearQuarantines(disk, work.repository)
  for (const taskId of (await disk.list(join(places.own, 'filling'))).filter(isTaskId)) await clearFilling(work, taskId)
  for (const name of await disk.list(places.own))
    if (/^(index|fence)-/.test(name)) await disk.removeTree(join(places.own, name)).catch(() => {})
  return done
}

async function recoverTask(
  work: WorktreeWork,
  taskId: string,
): Promise<'undid creation' | 'finished removal' | undefined> {
  const record = await readRecord(work.disk, work.places, taskId)
  if (!record) return undefined
  if (record.doing === 'create') {
    await undoCreation(work, taskId, record)
    return 'undid creation'
  }
  await finishRemoval(work, taskId, record)
  return 'finished removal'
}

/** What was committed in a sandbox just before the process ended is still there. */
async function takeOverLeft(work: WorktreeWork, taskId: string): Promise<'took over commits' | undefined> {
  const before = await findReady(work, taskId)
  const refused = (await syncGit(work, taskId))?.refused
  if (refused) throw refused
  return before?.commit === (await findReady(work, taskId))?.commit ? undefined : 'took over commits'
}

/**
 * Lets a worktree know where its repository lies now. `git worktree repair` would do the same, and to the worktrees that the user
 * has made as well.
 */
async function leadBack(work: WorktreeWork, taskId: string): Promise<'led back to the repository' | undefined> {
  const { disk, repository, places } = work
  const link = join(places.worktree(taskId), '.git')
  if ((await disk.kind(link)) !== 'file') return undefined
  if ((await readText(disk, link)).startsWith(`gitdir: ${join(repository.gitDir, 'worktrees')}/`)) return undefined
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  if (!admin?.isWhole) return undefined
  await replaceFile(disk, link, `gitdir: ${admin.path}\n`)
  return 'led back to the repository'
}

/** Worktrees of an earlier version have no settings of their own yet. */
async function isolate({ disk, repository, places, metadata }: WorktreeWork, taskId: string): Promise<undefined> {
  for (const { path, isWhole } of await findAdminFolders(disk, repository, places, taskId))
    if (isWhole) await metadata(() => isolateSettings(disk, repository, path))
}

async function findReady(work: WorktreeWork, taskId: string): Promise<Worktree | undefined> {
  const { disk, repository, places } = work
  if (await readRecord(disk, places, taskId)) return undefined
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  const path = places.worktree(taskId)
  if (!admin?.isWhole || (await disk.kind(path)) !== 'directory') return undefined
  const { branch, commit } = await readHead(disk, repository, admin.path)
  return { taskId, path, branch: branch ?? '', commit: commit ?? '' }
}

// Someone deleted the folder by hand. git would refuse to make it again as long as it remembers the old one.
async function forgetMissing(work: WorktreeWork, taskId: string): Promise<void> {
  if ((await work.disk.kind(work.places.worktree(taskId))) === 'missing') await removeAdmin(work, taskId)
}

async function requireKnown({ disk, repository, places }: WorktreeWork, taskId: string): Promise<void> {
  const folders = await findAdminFolders(disk, repository, places, taskId)
  const kind = await disk.kind(places.worktree(taskId))
  if (folders.length === 0 && kind === 'missing')
    throw new MatrixError('WORKTREE_UNKNOWN', `There is no worktree of task ${taskId}`)
  if (kind !== 'directory' && kind !== 'missing')
    throw new MatrixError('WORKTREE_OBSTRUCTED', `${places.worktree(taskId)} is not a directory`)
}

async function snapshotReady(work: WorktreeWork, taskId: string, reason: string): Promise<Snapshot | undefined> {
  const { disk, repository, places } = work
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  if (!admin?.isWhole || (await disk.kind(places.worktree(taskId))) !== 'directory')
    throw new MatrixError('WORKTREE_UNKNOWN', `There is no worktree of task ${taskId}`)
  const indexFile = join(places.own, `index-${work.newId()}`)
  try {
    const source = { taskId, workTree: places.worktree(taskId), admin: admin.path, reason, indexFile }
    const { snapshot } = await takeSnapshot(disk, repository, {
      ...source,
      name: work.newId(),
      takenAt: work.now().toISOString(),
    })
    return snapshot
  } finally {
    await disk.remove(indexFile).catch(() => {})
  }
}

async function readSnapshotChanges(repository: Repository, { head, commit }: Snapshot): Promise<FileChange[]> {
  // Taken before the first commit: everything in it is new.
  const nothing = async () => checkOid((await repository.files(['hash-object', '-t', 'tree', '--stdin'])).text())
  return listFiles(repository, head ?? (await nothing()), commit)
}

async function restoreFiles(
  { disk, repository, places, newId }: WorktreeWork,
  name: string,
  folder: string,
): Promise<Snapshot> {
  const snapshot = await getSnapshot(repository, name)
  if ((await disk.kind(folder)) !== 'missing')
    throw new MatrixError('WORKTREE_OBSTRUCTED', `${folder} exists already`, {
      hint: 'Name a folder that does not exist yet.',
    })
  await disk.makeDirectory(folder)
  const env = { GIT_INDEX_FILE: join(places.own, `index-${newId()}`) }
  try {
    const args = ['read-tree', '--reset', '-u', '--end-of-options', snapshot.commit]
    await repository.files(args, { workTree: await realpath(folder), env, timeoutMs: 30 * 60_000 })
  } finally {
    await removeFile(disk, env.GIT_INDEX_FILE)
  }
  return snapshot
}

async function listWorktrees(work: WorktreeWork): Promise<ListedWorktree[]> {
  const { disk, repository, places } = work
  const folders = await disk.list(places.directory)
  const known = await disk.list(join(repository.gitDir, 'worktrees')).catch(() => [])
  const records = (await disk.list(join(places.own, 'records'))).map((name) => name.replace(/\.json$/, ''))
  const ids = new Set([...folders, ...known.map((name) => name.slice(0, 26)), ...records].filter(isTaskId))

  const listed = await Promise.all([...ids].toSorted().map((taskId) => describe(work, taskId)))
  return listed.filter((each) => each !== undefined)
}

async function describe(
  { disk, repository, places }: WorktreeWork,
  taskId: string,
): Promise<ListedWorktree | undefined> {
  const path = places.worktree(taskId)
  const record = await readRecord(disk, places, taskId)
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  const isThere = (await disk.kind(path)) !== 'missing'
  if (!record && !admin && !isThere) return undefined
  const branch = admin ? (await readHead(disk, repository, admin.path)).branch : null
  if (record) return { taskId, path, branch, state: record.doing === 'create' ? 'creating' : 'removing' }
  if (!admin) return { taskId, path, branch, state: 'unregistered' }
  return { taskId, path, branch, state: isThere ? 'ready' : 'missing' }
}

async function findStale(work: WorktreeWork, tasks: readonly TaskNode[]): Promise<StaleWorktree[]> {
  const statuses = new Map(tasks.map((task) => [task.id, task.status]))
  const listed = (await listWorktrees(work)).flatMap(({ taskId, path, state }) => {
    const why = staleness(state, statuses.get(taskId))
    return why ? [{ taskId, path, why }] : []
  })
  const aside = await work.disk.list(join(work.places.own, 'aside'))
  return [
    ...listed,
    ...aside.map((name) => ({ taskId: null, path: work.places.aside(name), why: 'it was set aside and not deleted' })),
  ]
}

function staleness(state: WorktreeState, status: string | undefined): string | undefined {
  if (state === 'creating') return 'its creation was interrupted'
  if (state === 'removing') return 'its removal was interrupted'
  if (state === 'unregistered') return 'git does not know it'
  if (state === 'missing') return 'its folder is gone'
  if (status === undefined) return 'its task is no longer in the tree'
  return status === 'closed' ? 'its task is closed' : undefined
}

async function measureAll({ disk, places }: WorktreeWork): Promise<{ taskId: string; bytes: number }[]> {
  const ids = (await disk.list(places.directory)).filter(isTaskId)
  const sizes: { taskId: string; bytes: number }[] = []
  for (const taskId of ids.toSorted()) sizes.push({ taskId, bytes: await measure(places.worktree(taskId), new Set()) })
  return sizes
}

/** What the folder takes up on the disk: holes in files do not count, and files with several names count once. */
async function measure(path: string, seen: Set<string>): Promise<number> {
  const entry = await lstat(path).catch(() => undefined)
  if (!entry) return 0
  const key = `${entry.dev}:${entry.ino}`
  if (entry.nlink > 1 && !entry.isDirectory() && seen.has(key)) return 0
  seen.add(key)
  let bytes = entry.blocks * 512
  if (entry.isDirectory())
    for (const name of await readdir(path).catch(() => [])) bytes += await measure(join(path, name), seen)
  return bytes
}
