import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import { alignFolder } from './align.ts'
import { findMergeBase, tryMerge } from './branch-changes.ts'
import { checkBranchName } from './branch-name.ts'
import { decodeText, readFile, removeFile } from './durable-file.ts'
import { findGitFolder, makeGitFolder, type Refs } from './git-folder.ts'
import {
  type GitFolder,
  type GitFolderRecord,
  gitFolderOf,
  readGitRecord,
  writeGitRecord,
} from './git-folder-record.ts'
import { findUnfinished, readGitFolder, readMergeHead, type Unfinished } from './git-folder-state.ts'
import { mergeNote, moveBranch } from './merge.ts'
import type { Repository } from './repository.ts'
import type { SandboxGit } from './sandbox-git.ts'
import { excludeFile, readHead } from './snapshot.ts'
import { importCommits } from './take-over.ts'
import type { WorktreeWork } from './worktree-creation.ts'
import { findAdminFolders, readText } from './worktree-place.ts'

/** The state of git in the worktree of a task. */
export type GitStatus = {
  branch: string
  /** What is checked out instead of the task's branch: another branch, or null for a commit without one. */
  drift: { on: string | null } | undefined
  /** A rebase, merge or the like that has not ended. */
  unfinished: Unfinished | undefined
  /** Why commits that were made there are not on the task's branch. */
  refused: MatrixError | undefined
}

/** As long as one argument of a program can be. */
const MAX_EXCLUDES = 100_000

type Sandboxed = WorktreeWork & { sandbox: SandboxGit }

/**
 * Brings the agent's git directory and the user's repository to the same commit of the task's branch. Whichever side has moved since
 * they last agreed is followed; where both have, the agent's only if it holds the other. Can be repeated after any crash.
 */
export async function syncGit(work: WorktreeWork, taskId: string): Promise<GitStatus | undefined> {
  const { disk, repository, places } = work
  const [admin] = await findAdminFolders(disk, repository, places, taskId)
  if (!admin?.isWhole || (await disk.kind(places.worktree(taskId))) !== 'directory') return undefined
  if (!work.sandbox) return readUnsandboxed(work, taskId, admin.path)
  const sandboxed: Sandboxed = { ...work, sandbox: work.sandbox }
  const place = await openGitFolder(sandboxed, taskId, admin.path)
  if (!place) return readUnsandboxed(work, taskId, admin.path)
  for (let attempt = 1; ; attempt++) {
    const result = await syncOnce(sandboxed, place, admin.path).catch((error: unknown) => {
      if (error instanceof MatrixError && refusals.has(error.code)) return error
      throw error
    })
    if (result === 'moved' && attempt < 5) continue
    const refused = result instanceof MatrixError ? result : result === 'moved' ? keepsMoving(taskId) : undefined
    return statusOf(work, place, refused)
  }
}

const refusals: ReadonlySet<string> = new Set(['COMMIT_REFUSED', 'GIT_FAILED', 'BRANCH_MOVED'])

/** Whether the agent's git directory may say something new. Two small files are read, nothing else happens. */
export function hasMoved({ sandbox, seen }: WorktreeWork, taskId: string): boolean {
  const last = seen.get(taskId)
  if (!sandbox) return false
  if (!last) return existsSync(gitFolderOf(sandbox.directory, taskId).folder)
  return look(gitFolderOf(sandbox.directory, taskId).folder, last.status.branch) !== last.text
}

/** Fails where the files of a worktree are not those of the task's branch: what would be committed or merged then is not what it seems. */
export async function settleGit(work: WorktreeWork, taskId: string): Promise<void> {
  const status = await syncGit(work, taskId)
  if (status?.refused) throw status.refused
  if (status?.unfinished)
    throw new MatrixError('GIT_UNFINISHED', `A ${status.unfinished.what} is in progress in the worktree of this task`, {
      hint: `End it with ${status.unfinished.howToEnd}, then repeat the call.`,
    })
  if (status?.drift) throw drifted(status)
}

export function drifted({ branch, drift }: Pick<GitStatus, 'branch' | 'drift'>): MatrixError {
  const where = drift?.on ? `on branch ${printableLine(drift.on)}` : 'on no branch (HEAD is detached)'
  return new MatrixError('WORKTREE_DRIFTED', `The worktree is ${where}, not on the task's branch ${branch}`, {
    hint: `Only ${branch} is merged. Run git switch ${branch}; bring commits along with git cherry-pick or git merge.`,
  })
}

export function taskOfBranch(branch: string): string | undefined {
  return /^mxd\/([0-9A-HJKMNP-TV-Z]{26})\//.exec(branch)?.[1]
}

/** What the scripts of a task's sandbox are given. */
function sandboxPlace({ places }: WorktreeWork, { taskId, folder }: GitFolder, { objects }: GitFolderRecord) {
  return { gitDir: folder, worktree: places.worktree(taskId), readable: objects }
}

async function openGitFolder(work: Sandboxed, taskId: string, admin: string): Promise<GitFolder | undefined> {
  const { disk, repository } = work
  const place = await findGitFolder(work, taskId)
  if (place) return place
  const { branch, commit } = await readHead(disk, repository, admin)
  if (!branch || !commit) return undefined
  const visible = await listVisible(work, taskId)
  const excludes = await readExcludes(work, admin)
  return makeGitFolder(work, { taskId, branch, tip: commit, index: join(admin, 'index'), visible, excludes })
}

type Sides = {
  record: GitFolderRecord
  mine: string
  theirs: string
  merging: string
  visible: Refs
  hooks: string
  excludes: string
}

async function syncOnce(work: Sandboxed, place: GitFolder, admin: string): Promise<'synced' | 'moved'> {
  const { disk, repository } = work
  const record = await readGitRecord(disk, place)
  const mine = record && (await repository.findCommit(`refs/heads/${record.branch}`))
  if (!record || !mine) return 'synced'
  const { head, tip: theirs } = readGitFolder(place.folder, record.branch)
  if (head === undefined) throw damagedHead(place, record.branch)
  if (!theirs) throw lostBranch(record.branch, mine)
  const last = work.refusals.get(place.taskId)
  if (last?.mine === mine && last.theirs === theirs) throw last.error
  const merging = await readMerging(work, place, { record, admin })
  const visible = await listVisible(work, place.taskId)
  const sides = {
    record,
    mine,
    theirs,
    merging,
    visible,
    hooks: await work.hooks(),
    excludes: await readExcludes(work, admin),
  }
  if (mine !== theirs && theirs !== record.tip) return takeOver(work, place, { ...sides, admin })
  return align(work, place, sides)
}

/** The agent's branch has moved. Rewriting it is its right, unless that would drop what came to the branch from elsewhere. */
async function takeOver(
  work: Sandboxed,
  place: GitFolder,
  sides: Sides & { admin: string },
): Promise<'synced' | 'moved'> {
  const { disk, repository } = work
  const { record, mine, theirs, visible, merging } = sides
  const known = [...new Set([mine, record.tip, ...Object.values(visible)])]
  const from = sandboxPlace(work, place, record)
  await importCommits(work, from, { tips: [theirs], known: await existing(repository, known) }).catch((error) => {
    if (error instanceof MatrixError && error.code === 'COMMIT_REFUSED')
      work.refusals.set(place.taskId, { mine, theirs, error })
    throw error
  })
  if (mine !== record.tip) {
    const base = await findMergeBase(repository, mine, theirs)
    if (base === theirs) return align(work, place, sides)
    if (base !== mine) throw diverged(record.branch, mine)
  }
  await moveBranch(repository, record.branch, mine, theirs)
  await followIndex(work, sides.admin, theirs)
  await writeGitRecord(disk, place, { ...record, tip: theirs, merging })
  return 'moved'
}

async function align(work: Sandboxed, place: GitFolder, sides: Sides): Promise<'synced' | 'moved'> {
  const { record, mine, theirs, merging, visible, hooks, excludes } = sides
  const isSame =
    mine === theirs && merging === record.merging && hooks === record.hooks && sameRefs(visible, record.visible)
  if (!isSame) {
    const { head } = readGitFolder(place.folder, record.branch)
    const conflicts = merging ? (await tryMerge(work.repository, mine, merging)).conflicts : []
    const isStill = await alignFolder(work.sandbox, sandboxPlace(work, place, record), {
      branch: record.branch,
      from: theirs,
      to: mine,
      isCheckedOut: head === record.branch,
      merging,
      wasMerging: record.merging,
      message: `Merge ${nameOf(visible, merging)}`,
      conflicts,
      visible,
      wereVisible: record.visible,
      hooks,
      hadHooks: record.hooks,
      excludes,
      hadExcludes: record.excludes,
    })
    if (!isStill) return 'moved'
  }
  if (!isSame || record.tip !== mine)
    await writeGitRecord(work.disk, place, { ...record, tip: mine, merging, visible, hooks, excludes })
  return 'synced'
}

/** What Matrix merges into the branch. A merge that the agent has ended with its own git is over here as well. */
async function readMerging(
  { disk }: Sandboxed,
  { folder }: GitFolder,
  { record, admin }: { record: GitFolderRecord; admin: string },
): Promise<string> {
  const note = await readText(disk, mergeNote(admin))
  if (note === '' || note !== record.merging || readMergeHead(folder) === note) return note
  await removeFile(disk, mergeNote(admin))
  return ''
}

/** Lets the user's own git see the files as committed; only those that differ are looked at. */
async function followIndex({ repository }: WorktreeWork, admin: string, commit: string): Promise<void> {
  const env = { GIT_INDEX_FILE: join(admin, 'index') }
  await repository.files(['read-tree', '--reset', '--end-of-options', commit], { env, timeoutMs: 10 * 60_000 })
}

/** The user's own rules for what git ignores, and what the setup of the worktree has made. */
async function readExcludes({ disk, repository }: WorktreeWork, admin: string): Promise<string> {
  const files = [...repository.excludes, excludeFile(admin)]
  const contents = await Promise.all(files.map((file) => readFile(disk, file).catch(() => undefined)))
  return contents
    .map((content) => (content ? `${decodeText(content).trimEnd()}\n` : ''))
    .join('')
    .slice(0, MAX_EXCLUDES)
}

/** Tags, the branches that the task may see, and where the user's remotes have its base. */
async function listVisible({ repository, branchesFor }: WorktreeWork, taskId: string): Promise<Refs> {
  const branches = branchesFor(taskId).filter((name) => taskOfBranch(name) !== taskId)
  const patterns = branches.map(checkBranchName).flatMap((name) => [`refs/heads/${name}`, `refs/remotes/*/${name}`])
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/tags', 'refs/remotes/*/HEAD', ...patterns]
  const lines = (await repository.refs(args)).text().split('\n').filter(Boolean)
  return Object.fromEntries(lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]))
}

async function existing(repository: Repository, ids: readonly string[]): Promise<string[]> {
  const { text } = await repository.files(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    input: ids.map((id) => `${id}\n`).join(''),
  })
  return text()
    .split('\n')
    .flatMap((line) => (line.endsWith(' commit') || line.endsWith(' tag') ? [line.split(' ')[0] ?? ''] : []))
}

async function statusOf(work: WorktreeWork, place: GitFolder, refused: MatrixError | undefined): Promise<GitStatus> {
  const record = await readGitRecord(work.disk, place)
  const { branch = '', merging = '' } = record ?? {}
  const { head } = readGitFolder(place.folder, branch)
  const status: GitStatus = {
    branch,
    drift: head === branch ? undefined : { on: head ?? null },
    unfinished: findUnfinished(place.folder, merging),
    refused,
  }
  work.seen.set(place.taskId, { text: look(place.folder, branch), status })
  return status
}

/** Without a sandbox the agent's git is the user's own, and works on the repository itself. */
async function readUnsandboxed(work: WorktreeWork, taskId: string, admin: string): Promise<GitStatus> {
  const { branch } = await readHead(work.disk, work.repository, admin)
  const isOwn = branch !== null && taskOfBranch(branch) === taskId
  const merging = await readText(work.disk, mergeNote(admin))
  return {
    branch: isOwn ? branch : `mxd/${taskId}/…`,
    drift: isOwn ? undefined : { on: branch },
    unfinished: findUnfinished(admin, merging),
    refused: undefined,
  }
}

function look(folder: string, branch: string): string {
  const { head, tip } = readGitFolder(folder, branch)
  return `${head} ${tip}`
}

function sameRefs(a: Refs, b: Refs): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}

function nameOf(visible: Refs, commit: string): string {
  const ref = Object.keys(visible).find((name) => name.startsWith('refs/heads/') && visible[name] === commit)
  return ref?.slice('refs/heads/'.length) ?? commit.slice(0, 12)
}

export function damagedHead({ folder }: GitFolder, branch: string): MatrixError {
  return new MatrixError('COMMIT_REFUSED', `${join(folder, 'HEAD')} does not name a branch or a commit`, {
    hint: `Put it back: echo 'ref: refs/heads/${branch}' > ${join(folder, 'HEAD')}`,
  })
}

function lostBranch(branch: string, tip: string): MatrixError {
  return new MatrixError('COMMIT_REFUSED', `The git directory of the sandbox has no branch ${branch}`, {
    hint: `Only that branch is merged. Run git branch ${branch} ${tip.slice(0, 12)} and switch to it.`,
  })
}

function diverged(branch: string, tip: string): MatrixError {
  return new MatrixError(
    'COMMIT_REFUSED',
    `${branch} was moved to ${tip.slice(0, 12)} from elsewhere while it was changed in the sandbox`,
    {
      hint: `Run git rebase ${tip.slice(0, 12)} or git merge ${tip.slice(0, 12)}: nothing is lost, and both are kept.`,
    },
  )
}

function keepsMoving(taskId: string): MatrixError {
  return new MatrixError('COMMIT_REFUSED', `Something keeps committing in the sandbox of ${taskId}`, {
    hint: 'Wait until the command has ended, then repeat the call.',
  })
}
