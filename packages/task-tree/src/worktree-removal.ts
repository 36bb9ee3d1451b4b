import { join } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { checkBranchName } from './branch-name.ts'
import { isMissing, storageError } from './durable-file.ts'
import { dropGitFolder, saveGitFolder } from './git-folder-removal.ts'
import type { Repository } from './repository.ts'
import { changedSince, keepCommits, type Snapshot, type SnapshotSource, takeSnapshot } from './snapshot.ts'
import { findTaskBranches, removeAdmin, type Tip, type WorktreeWork } from './worktree-creation.ts'
import { dropRecord, findAdminFolders, type WorktreeRecord, writeRecord } from './worktree-place.ts'

export type RemoveOptions = {
  taskId: string
  reason?: string
  /** Also deletes the task's branch. What it holds is in the base already or goes into the snapshot first. */
  deleteBranch?: boolean
  /** Where the branch may have been merged to already. Without it a branch is never taken for merged. */
  baseBranch?: string
  /** Repositories inside the worktree (clones, submodules) fit into no snapshot. They stop the removal unless this is set. */
  discardNested?: boolean
}

export type Removed = { snapshot: string | null }

type RemoveRecord = Extract<WorktreeRecord, { doing: 'remove' }>

/** Moves the worktree out of everyone's reach, saves what is in it, and only then deletes it. */
export async function removeWorktree(work: WorktreeWork, options: RemoveOptions): Promise<Removed> {
  const { disk, places } = work
  const { taskId, deleteBranch = false, discardNested = false, reason = 'removed' } = options
  const aside = places.aside(`${taskId}-${work.newId()}`)
  const baseBranch = options.baseBranch ?? null
  const record: RemoveRecord = {
    doing: 'remove',
    aside,
    isSaved: false,
    snapshot: null,
    deleteBranch,
    baseBranch,
    branches: [],
    discardNested,
  }
  await writeRecord(disk, places, taskId, record)
  return finishRemoval(work, taskId, record, reason)
}

/** Goes on from wherever a removal stands. Every step can be repeated. */
export async function finishRemoval(
  work: WorktreeWork,
  taskId: string,
  record: RemoveRecord,
  reason = 'removed',
): Promise<Removed> {
  const { disk, places } = work
  if (record.isSaved && (await wasCalledOff(work, taskId, record))) {
    await dropRecord(disk, places, taskId)
    return { snapshot: record.snapshot }
  }
  const saved = record.isSaved ? record : await moveAndSave(work, taskId, record, reason)
  await removeAdmin(work, taskId)
  await deleteBranches(work, saved)
  await dropGitFolder(work, taskId)
  await disk.removeTree(saved.aside)
  await dropRecord(disk, places, taskId)
  return { snapshot: saved.snapshot }
}

// The files went back to their place because the record could not be written for certain; it was, but it no longer holds.
async function wasCalledOff({ disk, places }: WorktreeWork, taskId: string, { aside }: RemoveRecord): Promise<boolean> {
  return (await disk.kind(aside)) === 'missing' && (await disk.kind(places.worktree(taskId))) !== 'missing'
}

async function moveAndSave(
  work: WorktreeWork,
  taskId: string,
  record: RemoveRecord,
  reason: string,
): Promise<RemoveRecord> {
  const { disk, places, repository } = work
  const path = places.worktree(taskId)
  await moveAside(work, path, record.aside)
  try {
    const branches = record.deleteBranch ? await findTaskBranches(repository, taskId) : []
    const kept = await saveGitFolder(work, taskId)
    const unmerged = [...(await unmergedTips(repository, branches, record.baseBranch)), ...kept]
    const saving = { record, reason, unmerged }
    const isThere = (await disk.kind(record.aside)) !== 'missing'
    const snapshot = isThere ? await saveAll(work, taskId, saving) : await saveTips(work, taskId, saving)
    const saved = { ...record, isSaved: true, branches, snapshot: snapshot?.name ?? null }
    await writeRecord(disk, places, taskId, saved)
    return saved
  } catch (error) {
    await disk.rename(record.aside, path).catch(() => {})
    await dropRecord(disk, places, taskId)
    throw error
  }
}

async function moveAside({ disk, places }: WorktreeWork, path: string, aside: string): Promise<void> {
  try {
    await disk.rename(path, aside)
    await disk.syncDirectory(places.directory)
  } catch (error) {
    if (!isMissing(error)) throw storageError(error, path)
  }
}

type Saving = { record: RemoveRecord; reason: string; unmerged: string[] }

async function saveAll(work: WorktreeWork, taskId: string, saving: Saving): Promise<Snapshot | undefined> {
  const { record, reason, unmerged } = saving
  const { disk, repository, places } = work
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  if (!admin)
    throw new MatrixError(
      'WORKTREE_UNSAVED',
      `git no longer knows the worktree of ${taskId}, so its files cannot be saved`,
      {
        hint: `Look at ${places.worktree(taskId)} and move it away yourself.`,
      },
    )

  for (let attempt = 1; attempt <= 3; attempt++) {
    const source: SnapshotSource = {
      taskId,
      workTree: record.aside,
      admin: admin.path,
      reason,
      name: work.newId(),
      takenAt: work.now().toISOString(),
      indexFile: join(places.own, `index-${work.newId()}`),
      withForgotten: true,
      alsoKeep: unmerged,
    }
    const { snapshot, nested } = await takeSnapshot(disk, repository, source)
    if (nested.length > 0 && !record.discardNested) throw holdsRepositories(taskId, nested)
    const isStill = !(await changedSince(repository, source))
    await disk.remove(source.indexFile).catch(() => {})
    if (isStill) return snapshot
  }
  throw new MatrixError('WORKTREE_UNSAVED', `Something keeps writing in the worktree of ${taskId}`, {
    hint: 'End the processes that work there, then try again; the worktree was left as it is.',
  })
}

async function saveTips(
  work: WorktreeWork,
  taskId: string,
  { reason, unmerged: [first, ...rest] }: Saving,
): Promise<Snapshot | undefined> {
  if (!first) return undefined
  const source = { taskId, reason, name: work.newId(), takenAt: work.now().toISOString() }
  return keepCommits(work.repository, source, [first, ...rest])
}

/** What the branches hold that the base does not. */
async function unmergedTips(repository: Repository, branches: Tip[], baseBranch: string | null): Promise<string[]> {
  const base = baseBranch && (await repository.findCommit(`refs/heads/${checkBranchName(baseBranch)}`))
  const tips: string[] = []
  for (const { commit } of branches) if (!base || !(await isAncestor(repository, commit, base))) tips.push(commit)
  return tips
}

async function isAncestor(repository: Repository, commit: string, of: string): Promise<boolean> {
  const { code } = await repository.files(['merge-base', '--is-ancestor', '--end-of-options', commit, of], {
    codes: [0, 1],
  })
  return code === 0
}

async function deleteBranches({ repository }: WorktreeWork, { branches }: RemoveRecord): Promise<void> {
  for (const { name, commit } of branches)
    if ((await repository.findCommit(`refs/heads/${name}`)) === commit)
      await repository.refs(['update-ref', '--stdin'], { input: `delete refs/heads/${name} ${commit}\n` })
}

function holdsRepositories(taskId: string, nested: string[]): MatrixError {
  const named = nested.slice(0, 5).map(printableLine).join(', ')
  return new MatrixError('WORKTREE_UNSAVED', `The worktree of ${taskId} holds other repositories: ${named}`, {
    hint: 'Push or move what they hold, or remove the worktree with discardNested; it was left as it is.',
  })
}
