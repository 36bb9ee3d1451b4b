import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { checkBranchName } from './branch-name.ts'
import { type Disk, nodeDisk } from './disk.ts'
import { replaceFile } from './durable-file.ts'
import { fencedGit } from './fenced-git.ts'
import { type Git, type GitOptions, type GitResult, runGit } from './git.ts'
import { listObjectFolders } from './object-folders.ts'
import type { SandboxGit } from './sandbox-git.ts'

/**
 * A user's repository. Two ways lead to it: `refs` runs git on the repository itself, for commands that only read and move
 * refs; `files` runs git on an empty git directory of our own that shares the repository's objects, for everything that
 * looks at content. There, no configuration of the repository exists: no filter, driver, hook or helper can be named.
 */
export type Repository = {
  /** The user's checkout; absent in a bare repository. */
  readonly checkout: string | undefined
  /** The checkout that belongs to the git directory itself; absent also where git does not know it. */
  readonly mainCheckout: string | undefined
  readonly gitDir: string
  /** Files with ignore rules beyond the .gitignore files. */
  readonly excludes: readonly string[]
  /** How git keeps its branches, such as `files`. */
  readonly refFormat: string
  /** How git names objects: `sha1` or `sha256`. */
  readonly objectFormat: string
  /** Whether objects may be missing that a remote has promised. */
  readonly isPartial: boolean
  /** The user's settings for how files look, such as `core.autocrlf=true`. */
  readonly settings: readonly string[]
  refs(args: readonly string[], options?: GitOptions): Promise<GitResult>
  files(args: readonly string[], options?: GitOptions): Promise<GitResult>
  /** The commit a ref points to, or nothing. */
  findCommit(ref: string): Promise<string | undefined>
  /** The commit of a local branch, by its plain name. */
  getBranch(name: string): Promise<string>
}

export type RepositoryOptions = {
  /** A folder of Matrix's own, outside the repository. */
  directory: string
  git?: Git
  disk?: Disk
  /** Folders in which agents work while git reads or writes there, and what keeps git inside of them. */
  fence?: { sandbox: SandboxGit; covers(workTree: string): boolean } | undefined
}

const oid = /^[0-9a-f]{40}([0-9a-f]{24})?$/

export async function openRepository(path: string, options: RepositoryOptions): Promise<Repository> {
  const { disk = nodeDisk } = options
  const found = await discover(options.git ?? runGit, resolve(path))
  const git = namingMissing(options.git ?? runGit, found)
  await disk.makeDirectory(options.directory)
  const room = await furnish(disk, join(await realpath(options.directory), 'git'), found.objectFormat)

  const refs: Repository['refs'] = (args, more = {}) => git(args, { ...more, gitDir: found.gitDir })
  const inFence = options.fence && openFence(found, room, disk, options.directory, options.fence.sandbox)
  const gitFor = (workTree: string | undefined) =>
    workTree !== undefined && options.fence?.covers(workTree) && inFence ? inFence : git
  const files: Repository['files'] = (args, more = {}) =>
    gitFor(more.workTree)([...found.kept.flatMap((setting) => ['-c', setting]), ...args], {
      ...more,
      gitDir: room,
      env: {
        GIT_OBJECT_DIRECTORY: join(found.gitDir, 'objects'),
        ...(found.isShallow && { GIT_SHALLOW_FILE: join(found.gitDir, 'shallow') }),
        ...more.env,
      },
    })

  const findCommit = async (ref: string) => {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]
    const { code, text } = await refs(args, { codes: [0, 1, 128] })
    const commit = text().trim()
    return code === 0 && oid.test(commit) ? commit : undefined
  }

  const getBranch = async (name: string) => {
    const commit = await findCommit(`refs/heads/${checkBranchName(name)}`)
    if (commit) return commit
    throw (await hasCommits(refs))
      ? new MatrixError('BRANCH_UNKNOWN', `There is no branch ${name} in ${found.gitDir}`)
      : new MatrixError('REPOSITORY_UNUSABLE', `${found.gitDir} has no commits yet`, {
          hint: 'Make a first commit; every task starts from one.',
        })
  }

  const { checkout, mainCheckout, gitDir, excludes, refFormat, objectFormat } = found
  return {
    checkout,
    mainCheckout,
    gitDir,
    excludes: await existing(disk, excludes),
    refFormat,
    objectFormat,
    isPartial: found.isPartial,
    settings: found.kept,
    refs,
    files,
    findCommit,
    getBranch,
  }
}

function openFence(found: Found, room: string, disk: Disk, directory: string, sandbox: SandboxGit): Git {
  return namingMissing(async (args, options) => {
    const objects = await listObjectFolders(disk, join(found.gitDir, 'objects'))
    // `git fetch --unshallow` of the user takes the file away while Matrix runs.
    const shallow = join(found.gitDir, 'shallow')
    const readable = [room, ...(found.isShallow && (await disk.kind(shallow)) !== 'missing' ? [shallow] : [])]
    return fencedGit({ disk, sandbox, directory, objects, readable })(args, options)
  }, found)
}

/** Gives an object id back; anything else was not written by git. */
export function checkOid(text: string): string {
  const id = text.trim()
  if (!oid.test(id))
    throw new MatrixError('GIT_FAILED', `git answered ${JSON.stringify(id.slice(0, 80))} instead of an object id`)
  return id
}

/** The id of everything that a commit holds. */
export async function treeOf(repository: Repository, commit: string): Promise<string> {
  const { text } = await repository.files(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`])
  return checkOid(text())
}

type Found = {
  checkout: string | undefined
  mainCheckout: string | undefined
  gitDir: string
  objectFormat: string
  isShallow: boolean
  isPartial: boolean
  refFormat: string
  kept: string[]
  excludes: string[]
}

// Here the user's own settings count: whether this repository may be used at all (safe.directory) is their decision.
async function discover(git: Git, path: string): Promise<Found> {
  const askIn = async (folder: string, ...args: string[]) => {
    const { text } = await git(['-C', folder, ...args], { env: ownSettings() })
    return text().replace(/\n$/, '')
  }
  const ask = (...args: string[]) => askIn(path, ...args)
  const findTop = (folder: string) =>
    askIn(folder, 'rev-parse', '--path-format=absolute', '--show-toplevel').catch(() => '')
  // The path comes last, because it may have line breaks in it.
  const questions = ['--is-bare-repository', '--is-shallow-repository', '--show-object-format', '--git-common-dir']
  const answer = await ask('rev-parse', '--path-format=absolute', ...questions).catch((error) => {
    throw unusable(path, error)
  })
  const [isBare, isShallow, objectFormat = 'sha1', ...lines] = answer.split('\n')
  const gitDir = await realpath(lines.join('\n'))
  const config = parseConfig(await ask('config', '--list', '-z'))
  const checkout = isBare === 'true' ? undefined : (await findTop(path)) || undefined
  const isMain = gitDir === (await realpath(await ask('rev-parse', '--absolute-git-dir')))
  return {
    checkout,
    mainCheckout: isMain ? checkout : (await findTop(gitDir)) || besideOf(gitDir),
    gitDir,
    objectFormat,
    isShallow: isShallow === 'true',
    isPartial: isPartialClone(config),
    refFormat: config.get('extensions.refstorage') ?? 'files',
    kept: [...config]
      .filter(([name, value]) => keptSettings.has(name) && /^\w+$/.test(value))
      .map(([name, value]) => `${name}=${value}`),
    excludes: [join(gitDir, 'info/exclude'), config.get('core.excludesfile') ?? defaultExcludes()],
  }
}

// git names the remote in an extension, or marks the remote itself; older and newer versions differ.
function isPartialClone(config: Map<string, string>): boolean {
  return config.has('extensions.partialclone') || [...config].some(([name]) => /^remote\..*\.promisor$/.test(name))
}

// How files look on this machine; none of these can name a program.
const keptSettings = new Set([
  'core.autocrlf',
  'core.eol',
  'core.filemode',
  'core.symlinks',
  'core.ignorecase',
  'core.precomposeunicode',
])

function besideOf(gitDir: string): string | undefined {
  return basename(gitDir) === '.git' ? dirname(gitDir) : undefined
}

/** The output of git config --list -z; of several values for one name, the last. */
export function parseConfig(text: string): Map<string, string> {
  const entries = text.split('\0').filter((entry) => entry !== '')
  return new Map(
    entries.map((entry) => {
      const [name = '', ...value] = entry.split('\n')
      return [name, value.join('\n')]
    }),
  )
}

/** Lets git read the user's own configuration, which is otherwise left out. */
export function ownSettings(): Record<string, string | undefined> {
  return { GIT_CONFIG_GLOBAL: process.env.GIT_CONFIG_GLOBAL }
}

function defaultExcludes(): string {
  return join(process.env.XDG_CONFIG_HOME ?? join(process.env.HOME ?? '/nonexistent', '.config'), 'git/ignore')
}

async function existing(disk: Disk, paths: readonly string[]): Promise<string[]> {
  const full = paths.map((path) => path.replace(/^~(?=\/)/, process.env.HOME ?? '~'))
  const kinds = await Promise.all(full.map((path) => disk.kind(path)))
  return full.filter((_, index) => kinds[index] === 'file' || kinds[index] === 'link')
}

/** A git directory with nothing in it that anyone else has written. */
async function furnish(disk: Disk, room: string, objectFormat: string): Promise<string> {
  await disk.makeDirectory(join(room, 'refs'))
  const version = objectFormat === 'sha1' ? 0 : 1
  const extension = version === 0 ? '' : `[extensions]\n\tobjectFormat = ${objectFormat}\n`
  await replaceFile(
    disk,
    join(room, 'config'),
    `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = false\n${extension}`,
  )
  await replaceFile(disk, join(room, 'HEAD'), 'ref: refs/heads/none\n')
  return room
}

const missing = /unable to read|missing (blob|tree|commit)|bad object|could not (get|fetch)|lazy fetching/i

/** In a partial clone, a missing object is nothing broken: the user has to fetch it, because Matrix starts no transport. */
function namingMissing(git: Git, { isPartial, checkout, gitDir }: Found): Git {
  if (!isPartial) return git
  return (args, options) =>
    git(args, options).catch((error: unknown) => {
      if (!(error instanceof MatrixError && error.code === 'GIT_FAILED' && missing.test(error.message))) throw error
      const where = printableLine(checkout ?? gitDir)
      throw new MatrixError('GIT_FAILED', `${where} is a partial clone, and lacks files that are needed here`, {
        hint: `Fetch them: git -C '${where}' fetch --refetch --no-filter. Then resume the task.`,
        cause: error,
      })
    })
}

async function hasCommits(refs: Repository['refs']): Promise<boolean> {
  return (await refs(['for-each-ref', '--count=1', 'refs/heads'])).stdout.length > 0
}

function unusable(path: string, error: unknown): MatrixError {
  const said = (error as Error).message
  if (said.includes('dubious ownership'))
    return new MatrixError('REPOSITORY_UNUSABLE', `${printable(path)} belongs to another user`, {
      hint: `If you trust it, run git config --global --add safe.directory ${printable(path)}.`,
      cause: error,
    })
  return new MatrixError('REPOSITORY_UNUSABLE', `${printable(path)} is not a git repository`, { cause: error })
}
