import { readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { gitFolderOf, hooksOff, nodeDisk, readGitRecord } from '@matrix/task-tree'
import type { Surroundings } from '@matrix/tool-manager'

/** Parts of a repository's git folder that history is read from. Not among them: its configuration, where tokens may stand. */
const parts = ['HEAD', 'objects', 'refs', 'packed-refs', 'info', 'shallow']

/** Where the git directories of a project's tasks are, beside its worktrees. */
export function gitFoldersBeside(worktrees: string): string {
  return join(dirname(worktrees), 'git')
}

/** What an agent's tools have of git: in the worktree of a task a git directory of its own, elsewhere history to read. */
export async function gitSurroundings(worktree: string): Promise<Surroundings> {
  return (await ownGit(worktree)) ?? readableGit(worktree)
}

/** The task's own git directory takes the place of the link into the user's repository, of which only objects are there. */
async function ownGit(worktree: string): Promise<Surroundings | undefined> {
  const taskId = basename(worktree)
  if (!/^[0-9A-HJKMNP-TV-Z]{26}$/.test(taskId)) return undefined
  const place = gitFolderOf(gitFoldersBeside(dirname(worktree)), taskId)
  const record = await readGitRecord(nodeDisk, place)
  if (!record) return undefined
  return {
    readable: [...record.objects, ...(isAbsolute(record.hooks) ? [record.hooks] : [])],
    writable: [place.folder],
    overlays: [{ source: place.link, target: join(worktree, '.git') }],
    env: record.hooks === '' ? hookManagersOff : {},
  }
}

/** A package that is installed may set up hooks of its own in the sandbox: these say so to the usual ones. */
const hookManagersOff = { HUSKY: '0', LEFTHOOK: '0', SKIP_SIMPLE_GIT_HOOKS: '1' }

async function readableGit(worktree: string): Promise<Surroundings> {
  const admin = await findAdmin(worktree)
  const common = admin && dirname(dirname(admin))
  const paths = common ? [...parts.map((part) => join(common, part)), admin] : []
  const present = await Promise.all(paths.map(isThere))
  return {
    readable: paths.filter((_, index) => present[index]),
    env: {
      ...hooksOff,
      // The box may run as another user than the one the repository belongs to.
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_1: 'safe.directory',
      GIT_CONFIG_VALUE_1: '*',
      GIT_OPTIONAL_LOCKS: '0',
    },
  }
}

/** git's own folder for the worktree, if each of the two says that it belongs to the other. */
async function findAdmin(worktree: string): Promise<string | undefined> {
  try {
    const pointer = /^gitdir: (.+)$/m.exec(await readFile(join(worktree, '.git'), 'utf8'))?.[1]
    if (!pointer) return undefined
    const admin = resolve(worktree, pointer)
    const back = (await readFile(join(admin, 'gitdir'), 'utf8')).trim()
    return (await realpath(dirname(back))) === (await realpath(worktree)) ? admin : undefined
  } catch {
    return undefined
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}
