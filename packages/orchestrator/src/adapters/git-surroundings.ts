import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { hooksOff } from '@matrix/task-tree'
import type { Surroundings } from '@matrix/tool-manager'

/** Parts of a repository's git folder that history is read from. Not among them: its configuration, where tokens may stand. */
const parts = ['HEAD', 'objects', 'refs', 'packed-refs', 'info', 'shallow']

/** What an agent's tools see of git in a worktree: history to read, no hooks to run, nothing to write. */
export async function gitSurroundings(worktree: string): Promise<Surroundings> {
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
