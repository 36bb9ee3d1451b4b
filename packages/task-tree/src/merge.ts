import { join, resolve } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import * as z from 'zod'
import { findMergeBase, listFiles, tryMerge } from './branch-changes.ts'
import { advanceFiles, findInTheWay, isAdvanced, retreatFiles } from './checkout-files.ts'
import type { Disk } from './disk.ts'
import { decodeText, readFile, removeFile, replaceFile } from './durable-file.ts'
import { findEarlierCommit } from './earlier-commit.ts'
import { findFlagged } from './flagged-files.ts'
import { readIdentity } from './identity.ts'
import { checkOid, type Repository, treeOf } from './repository.ts'

export type MergeOptions = {
  branch: string
  baseBranch: string
  /** `merge` keeps the branch's commits, `squash` makes one commit of them. */
  how: 'merge' | 'squash'
  message?: string
  /** The commit that was looked at. If the branch has moved on since, nothing is merged. */
  expectedHead?: string
  /**
   * The base may be checked out in the user's own folder. Moving it under them would make that folder look changed, so by
   * default that is refused. Set, the files there are brought along, if no change of the user's is in the way.
   */
  updateCheckout?: boolean
  /**
   * For a merge by a user: the files that run by themselves which the user has accepted. Any other one refuses the merge, and
   * without `expectedHead` every one does. Not set, none is looked for.
   */
  acceptFlagged?: readonly string[]
  /** For a call that is made again: where there is nothing to merge, the merge of these words since then is its own. */
  since?: Date
  signal?: AbortSignal
}

export type MergeResult =
  | { outcome: 'merged'; commit: string }
  | { outcome: 'nothing to merge' }
  | { outcome: 'conflict'; files: string[] }

/** A merge that also changes a checkout, so that a crash in between can be seen. */
const MergeRecord = z.object({
  base: z.string(),
  old: z.string(),
  new: z.string(),
  checkout: z.string(),
  gitDir: z.string(),
  /** Set where the files hold conflicts: what is being merged, which is noted instead of moving the branch. */
  merging: z.string().optional(),
})
type MergeRecord = z.infer<typeof MergeRecord>

export type MergeWork = { disk: Disk; repository: Repository; recordFile: string; now: () => Date }

/** Merges without a checkout: in memory first, then one move of the base, which happens whole or not at all. */
export async function mergeBranch(work: MergeWork, options: MergeOptions): Promise<MergeResult> {
  const { repository } = work
  const old = await repository.getBranch(options.baseBranch)
  const head = await repository.getBranch(options.branch)
  if (options.expectedHead !== undefined && options.expectedHead !== head)
    throw moved(options.branch, options.expectedHead, head)
  const mergeBase = await findMergeBase(repository, old, head)
  if (mergeBase === head) return nothingToMerge(repository, options)
  await refuseForbiddenPaths(repository, mergeBase ?? old, head, options.branch)

  const checkouts = await findCheckouts(repository, options)
  if (checkouts.length > 0 && !options.updateCheckout) throw checkedOut(options, checkouts)
  const { tree, conflicts } = await tryMerge(repository, old, head)
  if (conflicts.length > 0) return { outcome: 'conflict', files: conflicts }
  // The commits of a squashed branch never become part of the base; what is in them does.
  if (options.how === 'squash' && tree === (await treeOf(repository, old))) return nothingToMerge(repository, options)
  await refuseFlagged(repository, options, { old, tree })

  const commit = await commitMerge(work, options, { tree, old, head })
  options.signal?.throwIfAborted()
  const [checkout] = checkouts
  if (checkout) await moveWithCheckout(work, options.baseBranch, { old, commit, checkout })
  else await moveBranch(repository, options.baseBranch, old, commit)
  return { outcome: 'merged', commit }
}

async function nothingToMerge(repository: Repository, options: MergeOptions): Promise<MergeResult> {
  const { baseBranch: branch, since } = options
  const commit = since && (await findEarlierCommit(repository, { branch, message: wordsOf(options), since }))
  return commit ? { outcome: 'merged', commit } : { outcome: 'nothing to merge' }
}

function wordsOf({ how, message, branch }: MergeOptions): string {
  return message?.replaceAll('\0', '').trim() || `${how === 'merge' ? 'Merge' : 'Squash'} ${branch}`
}

/**
 * Settles a merge that was interrupted while it changed a checkout: its branch is moved where the files are all there, and
 * they are taken back where they are not.
 */
export async function recoverMerge(work: MergeWork): Promise<'settled' | 'unclear'> {
  const { disk, repository, recordFile } = work
  const content = await readFile(disk, recordFile)
  if (!content) return 'settled'
  const record = parseRecord(content)
  if (!record) return 'unclear'
  const ends = { from: record.old, to: record.new }
  if ((await repository.findCommit(`refs/heads/${record.base}`)) === record.old) {
    if (await isAdvanced(repository, record, ends)) await arrive(work, record)
    else if (!(await retreatFiles(disk, repository, record, ends))) return 'unclear'
  }
  await removeFile(disk, recordFile)
  return 'settled'
}

export function unclearMerge(recordFile: string, cause?: unknown): MatrixError {
  return new MatrixError(
    'BRANCH_CHECKED_OUT',
    `A merge was interrupted while it changed the checkout named in ${recordFile}`,
    { hint: `Look at git status there, put it right, then delete ${recordFile}.`, cause },
  )
}

function parseRecord(content: Uint8Array): MergeRecord | undefined {
  try {
    return MergeRecord.parse(JSON.parse(decodeText(content)))
  } catch {
    return undefined
  }
}

type Step = { old: string; commit: string; checkout: string }

async function commitMerge(
  { repository, now }: MergeWork,
  options: MergeOptions,
  { tree, old, head }: { tree: string; old: string; head: string },
): Promise<string> {
  const at = now().toISOString()
  const env = { ...(await readIdentity(repository)), GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at }
  const parents = options.how === 'merge' ? ['-p', old, '-p', head] : ['-p', old]
  const input = `${wordsOf(options)}\n`
  const { text } = await repository.files(['commit-tree', ...parents, tree], { env, input, signal: options.signal })
  return checkOid(text())
}

/** Moves the branch if it still is where it was looked at. */
export async function moveBranch(repository: Repository, branch: string, old: string, commit: string): Promise<void> {
  const input = `update refs/heads/${branch} ${commit} ${old}\n`
  const failure = await repository.refs(['update-ref', '--stdin'], { input }).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure === undefined) return
  const current = await repository.findCommit(`refs/heads/${branch}`)
  // A git that was killed after its work has done it all the same.
  if (current === commit) return
  throw current === old ? failure : moved(branch, old, current ?? 'gone')
}

// The first is the one of the git directory, and git guesses where that is: in a submodule it names the git directory.
async function findCheckouts(repository: Repository, { baseBranch, branch }: MergeOptions): Promise<string[]> {
  const { text } = await repository.refs(['worktree', 'list', '--porcelain', '-z'])
  const entries = text()
    .split('\0\0')
    .map((entry) => entry.split('\0'))
  return entries.flatMap((lines, at) => {
    if (!lines.includes(`branch refs/heads/${baseBranch}`) || lines.includes('bare')) return []
    if (at > 0) return lines.find((line) => line.startsWith('worktree '))?.slice('worktree '.length) ?? []
    if (repository.mainCheckout !== undefined) return repository.mainCheckout
    throw new MatrixError(
      'BRANCH_CHECKED_OUT',
      `${baseBranch} is checked out in a folder that git does not name; its git directory is ${repository.gitDir}`,
      { hint: `Run git merge ${branch} in that folder.` },
    )
  })
}

async function moveWithCheckout(work: MergeWork, base: string, { old, commit, checkout }: Step): Promise<void> {
  const record = { base, old, new: commit, checkout, gitDir: await gitDirOf(work, checkout) }
  await refuseUnfinished(work.disk, record)
  await refuseFilters(work.repository, record)
  await changeCheckout(work, record)
}

/**
 * Files first, then the branch: a crash in between leaves the merge staged in the checkout, where it can be seen and
 * finished. What fails on the way is taken back; where even that fails, the next call or process does it.
 */
export async function changeCheckout(work: MergeWork, record: MergeRecord): Promise<void> {
  const { disk, repository, recordFile } = work
  const ends = { from: record.old, to: record.new }
  const obstacle = await findInTheWay(disk, repository, record, ends)
  if (obstacle !== undefined) throw wouldOverwrite(obstacle, record.checkout)
  await replaceFile(disk, recordFile, `${JSON.stringify(record)}\n`)
  try {
    await advanceFiles(repository, record, ends)
  } catch (error) {
    const refusal = refusedBy(error, record.checkout)
    const isAsBefore = refusal || (await retreatFiles(disk, repository, record, ends).catch(() => false))
    if (!isAsBefore) throw unclearMerge(recordFile, error)
    await removeFile(disk, recordFile)
    throw refusal ?? error
  }
  try {
    await arrive(work, record)
  } catch (error) {
    if (record.merging !== undefined) await removeFile(disk, mergeNote(record.gitDir))
    await advanceFiles(repository, record, { from: ends.to, to: ends.from })
    await removeFile(disk, recordFile)
    throw error
  }
  await removeFile(disk, recordFile)
}

async function arrive({ disk, repository }: MergeWork, record: MergeRecord): Promise<void> {
  if (record.merging === undefined) await moveBranch(repository, record.base, record.old, record.new)
  else await replaceFile(disk, mergeNote(record.gitDir), `${record.merging}\n`)
}

/** Where git notes what is being merged, until it is committed. */
export function mergeNote(gitDir: string): string {
  return join(gitDir, 'MERGE_HEAD')
}

async function gitDirOf({ disk, repository }: MergeWork, checkout: string): Promise<string> {
  const link = join(checkout, '.git')
  const content = (await disk.kind(link)) === 'file' ? await readFile(disk, link) : undefined
  const pointer = content && /^gitdir: (.+)$/s.exec(decodeText(content).trim())?.[1]
  const target = pointer && resolve(checkout, pointer)
  return target?.startsWith(join(repository.gitDir, 'worktrees/')) ? target : repository.gitDir
}

async function refuseUnfinished(disk: Disk, { checkout, gitDir }: MergeRecord): Promise<void> {
  const signs = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'rebase-merge', 'rebase-apply', 'index.lock']
  for (const sign of signs)
    if ((await disk.kind(join(gitDir, sign))) !== 'missing')
      throw new MatrixError(
        'BRANCH_CHECKED_OUT',
        `Something is unfinished in ${checkout}: ${join(gitDir, sign)} exists`,
        {
          hint: 'Finish or abort what git is doing there, then merge again.',
        },
      )
}

// Files that a filter writes (LFS, encryption) need the user's own git, which runs the filter.
async function refuseFilters(repository: Repository, record: MergeRecord): Promise<void> {
  const files = await listFiles(repository, record.old, record.new)
  const input = files.map((file) => `${file.path}\0`).join('')
  const { text } = await repository.files(['check-attr', '-z', '--stdin', 'filter'], {
    workTree: record.checkout,
    input,
  })
  const fields = text().split('\0')
  const filtered = fields.filter(
    (_, at) => at % 3 === 0 && !['unspecified', 'unset', undefined].includes(fields[at + 2]),
  )
  if (filtered.length > 0)
    throw new MatrixError(
      'BRANCH_CHECKED_OUT',
      `${printableLine(filtered[0] ?? '')} goes through a filter in ${record.checkout}`,
      {
        hint: `Merge there yourself, so that the filter runs.`,
      },
    )
}

// Names that some file system takes for .git, where configuration and hooks live. git refuses them only at checkout.
const forbiddenName = /^(\.git|git~\d+)[. ]*$|^\.\.?$/i
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

export function isForbiddenPath(path: string): boolean {
  return path.split(/[/\\]/).some((part) => forbiddenName.test(part.replace(ignorable, '').split(':')[0] ?? ''))
}

async function refuseForbiddenPaths(repository: Repository, from: string, to: string, branch: string): Promise<void> {
  const bad = (await listFiles(repository, from, to)).find(
    (file) => file.status !== 'deleted' && isForbiddenPath(file.path),
  )
  if (bad)
    throw new MatrixError(
      'MERGE_REFUSED',
      `${branch} holds a file that could pass for git's own: ${printableLine(bad.path)}`,
    )
}

async function refuseFlagged(
  repository: Repository,
  { acceptFlagged, expectedHead }: MergeOptions,
  { old, tree }: { old: string; tree: string },
): Promise<void> {
  if (acceptFlagged === undefined) return
  const accepted = new Set(expectedHead === undefined ? [] : acceptFlagged)
  const left = (await findFlagged(repository, old, tree)).filter(({ path }) => !accepted.has(path))
  if (left.length === 0) return
  const words =
    left.length === 1 ? 'One file runs by itself and was' : `${left.length} files run by themselves and were`
  throw new MatrixError(
    'MERGE_FLAGGED',
    `${words} not accepted: ${left.map(({ path }) => printableLine(path)).join(', ')}`,
  )
}

function moved(branch: string, expected: string, found: string): MatrixError {
  return new MatrixError('BRANCH_MOVED', `${branch} is at ${found.slice(0, 12)}, no longer at ${expected.slice(0, 12)}`)
}

function checkedOut({ branch, baseBranch }: MergeOptions, checkouts: string[]): MatrixError {
  const [where = ''] = checkouts.map(printableLine)
  return new MatrixError(
    'BRANCH_CHECKED_OUT',
    `${baseBranch} is checked out in ${where}, which is not changed without being asked`,
    {
      hint: `Let the files there be brought along (--update-checkout), or run git merge ${branch} there yourself.`,
    },
  )
}

function wouldOverwrite(path: string, checkout: string): MatrixError {
  return new MatrixError(
    'BRANCH_CHECKED_OUT',
    `${printableLine(path)} in ${checkout} is in no commit, and the merge would overwrite it`,
    { hint: 'Commit, stash or move it away, then merge again.' },
  )
}

/** git looks for changes of the user's before it writes the first file. */
function refusedBy(error: unknown, checkout: string): MatrixError | undefined {
  if (!(error instanceof MatrixError) || !/would be overwritten|not uptodate|Entry .* cannot merge/.test(error.message))
    return undefined
  return new MatrixError('BRANCH_CHECKED_OUT', `Changes in ${checkout} are in the way: ${error.message}`, {
    hint: 'Commit or stash them, then merge again.',
    cause: error,
  })
}
