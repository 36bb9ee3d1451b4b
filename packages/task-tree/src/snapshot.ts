import { existsSync } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DRAFT_PREFIX, MatrixError, printableLine, TaskId } from '@matrix/protocol'
import * as z from 'zod'
import { checkTaskId } from './branch-name.ts'
import type { Disk } from './disk.ts'
import { checkOid, type Repository, treeOf } from './repository.ts'
import { readText } from './worktree-place.ts'

const Description = z.object({
  taskId: TaskId,
  reason: z.string(),
  branch: z.string().nullable(),
  head: z.string().nullable(),
  takenAt: z.string(),
})

/** Everything in a worktree at one moment, kept as a commit that no branch shows and no tidying up takes away. */
export type Snapshot = z.infer<typeof Description> & { name: string; commit: string }

export type SnapshotSource = {
  taskId: string
  /** Where the files are now. */
  workTree: string
  /** git's folder for the worktree. */
  admin: string
  reason: string
  name: string
  takenAt: string
  /** A file of ours for the index that is built; the worktree's own stays as it is. */
  indexFile: string
  /** Also keep commits that only the worktree's own history remembers. */
  withForgotten?: boolean
  /** Commits to keep as well; with any, a snapshot is made even when nothing else is new. */
  alsoKeep?: readonly string[]
}

/** What was found, and what of it a snapshot cannot hold. */
export type Survey = { snapshot: Snapshot | undefined; nested: string[] }

const namespace = 'refs/mxd/snapshots'

/** Saves what is tracked or new and not ignored. Touches no branch, no HEAD and no index but its own. */
export async function takeSnapshot(disk: Disk, repository: Repository, source: SnapshotSource): Promise<Survey> {
  const { head, tree, nested } = await writeFiles(disk, repository, source)
  const forgotten = source.withForgotten ? await forgottenCommits(disk, repository, source.admin, head.commit) : []

  const isClean = head.commit !== undefined && tree === (await treeOf(repository, head.commit))
  const isOnBranch = isClean && head.branch !== null && forgotten.length === 0
  const { alsoKeep = [] } = source
  if (isOnBranch && alsoKeep.length === 0) return { snapshot: undefined, nested }
  const parents = [...(head.commit ? [head.commit] : []), ...forgotten, ...alsoKeep]
  return { snapshot: await save(repository, source, tree, parents, head), nested }
}

type FilesSource = Pick<SnapshotSource, 'workTree' | 'admin' | 'indexFile'>

/** Everything in a worktree that is tracked or new and not ignored, as a tree of git's, and in an index of our own. */
export async function writeFiles(
  disk: Disk,
  repository: Repository,
  source: FilesSource,
): Promise<{ head: Head; tree: string; nested: string[] }> {
  const head = await readHead(disk, repository, source.admin)
  await startIndex(repository, source, head.commit)
  const nested = await fillIndex(disk, repository, source)
  return { head, nested, tree: checkOid(await read(repository, source, ['write-tree'])) }
}

/** Keeps commits where there are no files to keep, because the worktree itself is gone. */
export async function keepCommits(
  repository: Repository,
  source: Pick<SnapshotSource, 'taskId' | 'reason' | 'name' | 'takenAt'>,
  commits: readonly [string, ...string[]],
): Promise<Snapshot> {
  const tree = await treeOf(repository, commits[0])
  return save(repository, source, tree, [...commits], { branch: null, commit: commits[0] })
}

/** Whether anything changed since the index of a snapshot was built: someone may still have been writing. */
export async function changedSince(repository: Repository, source: SnapshotSource): Promise<boolean> {
  const changed = await listChanged(repository, source)
  const others = (await listOthers(repository, source)).filter((path) => path.at(-1) !== slash)
  return changed.length > 0 || others.length > 0
}

export async function listSnapshots(repository: Repository, taskId?: string): Promise<Snapshot[]> {
  const scope = taskId === undefined ? namespace : `${namespace}/${checkTaskId(taskId)}`
  const { text } = await repository.refs([
    'for-each-ref',
    '--format=%(refname)%00%(objectname)%00%(contents)%00',
    scope,
  ])
  const fields = text().split('\0')
  const snapshots: Snapshot[] = []
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const snapshot = parseSnapshot(fields[at]?.trim() ?? '', fields[at + 1] ?? '', fields[at + 2] ?? '')
    if (snapshot) snapshots.push(snapshot)
  }
  return snapshots.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

export async function getSnapshot(repository: Repository, name: string): Promise<Snapshot> {
  const found = (await listSnapshots(repository)).find((snapshot) => snapshot.name === name)
  if (!found) throw new MatrixError('SNAPSHOT_UNKNOWN', `No snapshot ${printableLine(name.slice(0, 60))}`)
  return found
}

/** Forgets a snapshot for good. Only ever on request. */
export async function dropSnapshot(repository: Repository, name: string): Promise<void> {
  const { taskId, commit } = await getSnapshot(repository, name)
  await repository.refs(['update-ref', '--stdin'], { input: `delete ${refOf(taskId, name)} ${commit}\n` })
}

type Head = { branch: string | null; commit: string | undefined }

/** What HEAD of a worktree says. The file is read as text: the folder it lies in may have been rewritten to lead elsewhere. */
export async function readHead(disk: Disk, repository: Repository, admin: string): Promise<Head> {
  const text = await readText(disk, join(admin, 'HEAD'))
  const branch = /^ref: refs\/heads\/(.+)$/.exec(text)?.[1] ?? null
  const isDetached = /^[0-9a-f]{40,64}$/.test(text)
  const commit = branch
    ? await repository.findCommit(`refs/heads/${branch}`)
    : isDetached
      ? await repository.findCommit(text)
      : undefined
  return { branch, commit }
}

const slash = '/'.charCodeAt(0)

function refOf(taskId: string, name: string): string {
  return `${namespace}/${checkTaskId(taskId)}/${checkTaskId(name)}`
}

function parseSnapshot(ref: string, commit: string, message: string): Snapshot | undefined {
  const name = ref.split('/').at(-1) ?? ''
  try {
    return { ...Description.parse(JSON.parse(message.slice(message.indexOf('\n\n') + 2))), name, commit }
  } catch {
    return undefined
  }
}

async function read(repository: Repository, source: FilesSource, args: string[]): Promise<string> {
  return (await onIndex(repository, source, args)).text()
}

/** For what looks at the index alone. */
function onIndex(repository: Repository, { indexFile }: FilesSource, args: string[]) {
  return repository.files(args, { env: { GIT_INDEX_FILE: indexFile }, maxBytes: 1024 ** 3, timeoutMs: 30 * 60_000 })
}

function onFiles(repository: Repository, source: FilesSource, args: string[], input?: Uint8Array) {
  return repository.files(args, {
    workTree: source.workTree,
    env: { GIT_INDEX_FILE: source.indexFile },
    maxBytes: 1024 ** 3,
    timeoutMs: 30 * 60_000,
    ...(input && { input }),
  })
}

// The worktree's own index knows which files are unchanged, which saves reading them all. But it may also have been told
// to look away from some (assume-unchanged, skip-worktree), or be damaged; then every file is read.
async function startIndex(repository: Repository, source: FilesSource, head: string | undefined): Promise<void> {
  const copied = await copyFile(join(source.admin, 'index'), source.indexFile).then(
    () => true,
    () => false,
  )
  if (copied && (await looksAtEverything(repository, source))) return
  await rm(source.indexFile, { force: true })
  await onIndex(
    repository,
    source,
    head ? ['read-tree', '--reset', '--end-of-options', head] : ['read-tree', '--empty'],
  )
}

async function looksAtEverything(repository: Repository, source: FilesSource): Promise<boolean> {
  try {
    const { text } = await onIndex(repository, source, ['ls-files', '-v', '-z'])
    return !/(^|\0)([a-z]|S) /.test(text())
  } catch {
    return false
  }
}

/** Answers with the repositories inside the worktree: their content belongs to them and is in no snapshot. */
async function fillIndex(disk: Disk, repository: Repository, source: FilesSource): Promise<string[]> {
  const others = await listOthers(repository, source)
  const nested = others.filter((path) => path.at(-1) === slash)
  const changed = await listChanged(repository, source)
  const added = others.filter((path) => path.at(-1) !== slash)
  const add = (paths: Buffer[]) => updateIndex(repository, source, ['--add', '--remove'], paths)
  await add([...changed, ...added]).catch(async (error: unknown) => {
    const special = await findSpecial(disk, source, changed)
    if (special.size === 0) throw error
    await updateIndex(repository, source, ['--force-remove'], [...special])
    await add([...changed.filter((path) => !special.has(path)), ...added])
  })
  return [...nested.map((path) => path.toString('utf8')), ...(await populatedSubmodules(disk, repository, source))]
}

async function updateIndex(repository: Repository, source: FilesSource, how: string[], paths: Buffer[]): Promise<void> {
  if (paths.length === 0) return
  const input = Buffer.concat(paths.flatMap((path) => [path, Buffer.of(0)]))
  await onFiles(repository, source, ['update-index', '-z', ...how, '--stdin'], input)
}

/** Pipes, sockets and devices: git cannot hold them, so the file that was in their place is a deleted one. */
async function findSpecial(disk: Disk, { workTree }: FilesSource, paths: readonly Buffer[]): Promise<Set<Buffer>> {
  const special = new Set<Buffer>()
  for (const path of paths) if ((await disk.kind(join(workTree, path.toString('utf8')))) === 'other') special.add(path)
  return special
}

async function listChanged(repository: Repository, source: FilesSource): Promise<Buffer[]> {
  const args = ['diff-files', '--name-only', '-z', '--ignore-submodules=all', '--no-ext-diff']
  return splitAtNul((await onFiles(repository, source, args)).stdout)
}

/** What a setup made in this worktree and git does not ignore: never committed, never saved. */
export function excludeFile(admin: string): string {
  return join(admin, 'matrix-exclude')
}

/** Files that git neither tracks nor ignores. `byFolder` names a folder without tracked files once, with a slash. */
export async function listOthers(
  repository: Repository,
  source: FilesSource,
  { byFolder = false }: { byFolder?: boolean } = {},
): Promise<Buffer[]> {
  const own = excludeFile(source.admin)
  const excludes = [...repository.excludes, ...(existsSync(own) ? [own] : [])]
  const rules = [
    `--exclude=${DRAFT_PREFIX}*`,
    ...excludes.map((file) => `--exclude-from=${file}`),
    '--exclude-per-directory=.gitignore',
    ...(byFolder ? ['--directory', '--no-empty-directory'] : []),
  ]
  return splitAtNul((await onFiles(repository, source, ['ls-files', '--others', '-z', ...rules])).stdout)
}

async function populatedSubmodules(disk: Disk, repository: Repository, source: FilesSource): Promise<string[]> {
  const { stdout } = await onIndex(repository, source, ['ls-files', '--stage', '-z'])
  const links = splitAtNul(stdout).filter((line) => line.subarray(0, 7).toString('latin1') === '160000 ')
  const paths = links.map((line) => line.subarray(line.indexOf('\t') + 1).toString('utf8'))
  const kinds = await Promise.all(paths.map((path) => disk.kind(join(source.workTree, path, '.git'))))
  return paths.filter((_, index) => kinds[index] !== 'missing').map((path) => `${path}/`)
}

// File names are bytes and need not be text.
function splitAtNul(output: Uint8Array): Buffer[] {
  const bytes = Buffer.from(output.buffer, output.byteOffset, output.byteLength)
  const parts: Buffer[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0, start)
    if (end === -1) break
    parts.push(bytes.subarray(start, end))
    start = end + 1
  }
  return parts
}

/** Commits that HEAD of this worktree once stood on and nothing else leads to: removing the worktree would lose them. */
async function forgottenCommits(
  disk: Disk,
  repository: Repository,
  admin: string,
  head: string | undefined,
): Promise<string[]> {
  const log = await readText(disk, join(admin, 'logs/HEAD'))
  const seen = new Set(log.split('\n').flatMap((line) => line.split(' ').slice(0, 2)))
  return findUnkept(
    repository,
    [...seen].filter((id) => !/^0+$/.test(id)),
    head,
  )
}

/** Of some commits, those that no branch, tag or remote leads to, and none of the others either. */
export async function findUnkept(
  repository: Repository,
  ids: readonly string[],
  head: string | undefined,
): Promise<string[]> {
  const commits = ids.filter((id) => /^[0-9a-f]{40,64}$/.test(id))
  if (commits.length === 0) return []
  const input = [...commits, ...(head ? [`^${head}`] : []), ''].join('\n')
  const args = ['rev-list', '--ignore-missing', '--parents', '--stdin', '--not', '--branches', '--tags', '--remotes']
  const { text } = await repository.refs(args, { input })
  const lines = text()
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' '))
  const parents = new Set(lines.flatMap(([, ...parents]) => parents))
  return lines.flatMap(([commit = '']) => (parents.has(commit) ? [] : [commit])).slice(0, 200)
}

async function save(
  repository: Repository,
  { taskId, reason, name, takenAt }: Pick<SnapshotSource, 'taskId' | 'reason' | 'name' | 'takenAt'>,
  tree: string,
  parents: string[],
  head: Head,
): Promise<Snapshot> {
  const description = { taskId, reason, branch: head.branch, head: head.commit ?? null, takenAt }
  const commit = await commitTree(repository, tree, [...new Set(parents)], description)
  await repository.refs(['update-ref', '--stdin'], { input: `create ${refOf(taskId, name)} ${commit}\n` })
  return { ...description, name, commit }
}

async function commitTree(
  repository: Repository,
  tree: string,
  parents: string[],
  description: z.infer<typeof Description>,
): Promise<string> {
  const identity = { NAME: 'Matrix', EMAIL: 'matrix@localhost', DATE: description.takenAt }
  const env = Object.fromEntries(
    Object.entries(identity).flatMap(([key, value]) => [
      [`GIT_AUTHOR_${key}`, value],
      [`GIT_COMMITTER_${key}`, value],
    ]),
  )
  const args = ['commit-tree', ...parents.flatMap((parent) => ['-p', parent]), tree]
  const input = `Snapshot of ${description.taskId}\n\n${JSON.stringify(description)}\n`
  return checkOid((await repository.files(args, { env, input })).text())
}
