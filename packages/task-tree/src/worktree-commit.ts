import { join } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { beneath } from './beneath.ts'
import { findMergeBase, listFiles, tryMerge } from './branch-changes.ts'
import { removeFile, replaceFile } from './durable-file.ts'
import { type Earlier, findEarlierCommit } from './earlier-commit.ts'
import { readIdentity } from './identity.ts'
import { changeCheckout, type MergeResult, type MergeWork, mergeBranch, mergeNote, moveBranch } from './merge.ts'
import { checkOid, treeOf } from './repository.ts'
import { writeFiles } from './snapshot.ts'
import type { WorktreeWork } from './worktree-creation.ts'
import { findAdminFolders, readText } from './worktree-place.ts'

export type CommitOptions = {
  taskId: string
  message: string
  /** For a call that is made again: where there is nothing to commit, the commit of these words since then is its own. */
  since?: Date
}

/** Nothing was committed when there was nothing new. */
export type Committed = {
  commit: string | undefined
  files: string[]
  /** What the hooks of the project printed, where they ran. */
  hooks?: string
}

export type UpdateOptions = { taskId: string; from: string; message?: string }

type State = { admin: string; workTree: string; branch: string; head: string; tree: string; merging: string }

export async function commitWorktree(
  work: WorktreeWork,
  { taskId, message, since }: CommitOptions,
): Promise<Committed> {
  return withFiles(work, taskId, async (state, indexFile) => {
    const { admin, branch, head, tree, merging } = state
    const files = await changedPaths(work, head, tree)
    if (files.length === 0 && merging === '') {
      await keepInStep(work, admin, indexFile)
      return since
        ? findCommitted(work, { branch, message: wordsOf(message), since })
        : { commit: undefined, files: [] }
    }
    if (merging !== '') await refuseMarkers(work, state, files)

    const commit = await commitTree(work, { tree, parents: [head, ...(merging ? [merging] : [])], message })
    await moveBranch(work.repository, branch, head, commit)
    // The branch has moved, so the commit is made; what follows only keeps git's view of the files in step.
    await removeFile(work.disk, mergeNote(admin))
    await keepInStep(work, admin, indexFile)
    return { commit, files }
  })
}

/** Lets git see the files as committed. A crash may have come before that, so it is also done where nothing is new. */
async function keepInStep({ disk }: WorktreeWork, admin: string, indexFile: string): Promise<void> {
  await replaceFile(disk, join(admin, 'index'), await disk.read(indexFile))
}

async function findCommitted({ repository }: WorktreeWork, earlier: Earlier): Promise<Committed> {
  const commit = await findEarlierCommit(repository, earlier)
  const files = commit ? await listFiles(repository, `${commit}^`, commit) : []
  return { commit, files: files.map(({ path }) => path) }
}

export async function listUncommitted(work: WorktreeWork, taskId: string): Promise<string[]> {
  return withFiles(work, taskId, ({ head, tree }) => changedPaths(work, head, tree))
}

export async function updateWorktree(
  work: WorktreeWork,
  { taskId, from, message }: UpdateOptions,
  merging: MergeWork,
): Promise<MergeResult> {
  const { repository } = work
  const state = await withFiles(work, taskId, async (found) => found)
  const theirs = state.merging || (await repository.getBranch(from))
  if ((await findMergeBase(repository, state.head, theirs)) === theirs) return { outcome: 'nothing to merge' }
  const { tree, conflicts } = await tryMerge(repository, state.head, theirs)
  const isClean = state.tree === (await treeOf(repository, state.head))
  if (!isClean && state.merging === '')
    throw new MatrixError('WORKTREE_UNSAVED', 'There are changes that are not committed', {
      hint: 'Commit them first, then bring the branch up to date.',
    })
  if (conflicts.length === 0)
    return mergeBranch(merging, {
      branch: from,
      baseBranch: state.branch,
      how: 'merge',
      updateCheckout: true,
      message: message ?? `Merge ${from}`,
    })
  if (state.merging === '') {
    const record = { base: state.branch, old: state.head, new: tree, checkout: state.workTree, gitDir: state.admin }
    await changeCheckout(merging, { ...record, merging: theirs })
  }
  return { outcome: 'conflict', files: conflicts }
}

/** Writes the files of a worktree into an index of our own, and gives it to some work. */
async function withFiles<T>(
  work: WorktreeWork,
  taskId: string,
  act: (state: State, indexFile: string) => Promise<T>,
): Promise<T> {
  const { disk, repository, places } = work
  const [folder] = await findAdminFolders(disk, repository, places, taskId)
  const workTree = places.worktree(taskId)
  if (!folder?.isWhole || (await disk.kind(workTree)) !== 'directory')
    throw new MatrixError('WORKTREE_UNKNOWN', `There is no worktree of task ${taskId}`)
  const admin = folder.path
  const indexFile = join(places.own, `index-${work.newId()}`)
  try {
    const { head, tree } = await writeFiles(disk, repository, { workTree, admin, indexFile })
    if (!head.branch || !head.commit)
      throw new MatrixError('BRANCH_UNKNOWN', `The worktree of task ${taskId} is on no branch`, {
        hint: `Switch it back to its branch in ${workTree}.`,
      })
    const merging = await readMerging(work, admin, head.commit)
    return await act({ admin, workTree, branch: head.branch, head: head.commit, tree, merging }, indexFile)
  } finally {
    await disk.remove(indexFile).catch(() => {})
  }
}

/** What is being merged. A note of what the branch holds already was left by a crash, and would make the merge a second time. */
async function readMerging({ disk, repository }: WorktreeWork, admin: string, head: string): Promise<string> {
  const theirs = await readText(disk, mergeNote(admin))
  if (!/^[0-9a-f]{40,64}$/.test(theirs) || (await findMergeBase(repository, head, theirs)) !== theirs) return theirs
  await removeFile(disk, mergeNote(admin))
  return ''
}

async function changedPaths({ repository }: WorktreeWork, head: string, tree: string): Promise<string[]> {
  if (tree === (await treeOf(repository, head))) return []
  return (await listFiles(repository, head, tree)).map(({ path }) => path)
}

/** A merge that is committed with its markers in it looks finished to everyone. */
async function refuseMarkers({ disk }: WorktreeWork, { workTree }: State, files: string[]): Promise<void> {
  const marked: string[] = []
  for (const path of files) {
    const text = await beneath(workTree, path, async (file) =>
      (await disk.kind(file)) === 'file' ? readText(disk, file) : '',
    )
    if (!text) continue
    if (/^<{7} /m.test(text) && /^>{7} /m.test(text)) marked.push(path)
  }
  if (marked.length > 0)
    throw new MatrixError('MERGE_REFUSED', `Conflict markers are left in ${marked.map(printableLine).join(', ')}`, {
      hint: 'Decide what each place should be, remove the markers, then commit.',
    })
}

async function commitTree(
  { repository, now }: WorktreeWork,
  { tree, parents, message }: { tree: string; parents: string[]; message: string },
): Promise<string> {
  const at = now().toISOString()
  const env = { ...(await readIdentity(repository)), GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at }
  const args = ['commit-tree', ...parents.flatMap((parent) => ['-p', parent]), tree]
  return checkOid((await repository.files(args, { env, input: `${wordsOf(message)}\n` })).text())
}

function wordsOf(message: string): string {
  return message.replaceAll('\0', '').trim()
}
