import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openWorktrees, type Worktrees, type WorktreesOptions } from './worktrees.ts'

/** A real repository in a temporary folder, with one commit and a place for worktrees. */
export type ScratchRepository = {
  /** Everything lives below this folder. */
  home: string
  checkout: string
  worktrees: string
  git(...args: string[]): string
  gitIn(folder: string, ...args: string[]): string
  /** Runs git with something on its standard input. */
  gitWith(input: string, ...args: string[]): string
  write(path: string, content: string | Uint8Array): Promise<void>
  commit(message: string): string
  /** A hash of the checkout with its index, HEAD, configuration and hooks: everything that is the user's. */
  fingerprint(): Promise<string>
  /** The worktrees of the repository, opened as one more process would. */
  open(options?: Partial<WorktreesOptions>): Promise<Worktrees>
  remove(): Promise<void>
}

export async function scratchRepository({ name = 'repo', branch = 'trunk' } = {}): Promise<ScratchRepository> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'mxd-scratch-')))
  const checkout = join(home, name)
  await mkdir(checkout)
  const run = (cwd: string, args: string[], input = '') =>
    execFileSync('git', args, { cwd, input, encoding: 'utf8', env: environment(home), stdio: 'pipe' }).trim()
  const gitIn = (folder: string, ...args: string[]) => run(folder, args)
  const git = (...args: string[]) => gitIn(checkout, ...args)
  const write = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(checkout, path)), { recursive: true })
    await writeFile(join(checkout, path), content)
  }
  const scratch: ScratchRepository = {
    home,
    checkout,
    worktrees: join(home, 'data/worktrees'),
    git,
    gitIn,
    gitWith: (input, ...args) => run(checkout, args, input),
    write,
    commit(message) {
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '-m', message)
      return git('rev-parse', 'HEAD')
    },
    fingerprint: () => fingerprint(checkout),
    open: (options) => openWorktrees({ repository: checkout, directory: scratch.worktrees, ...options }),
    remove: () => rm(home, { recursive: true, force: true }),
  }
  git('init', '--quiet', '--template=', '-b', branch)
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.com\n[gc]\n\tauto = 0\n')
  await write('readme.md', 'hello\n')
  await write('src/date.ts', 'export const day = 1\n')
  await write('.gitignore', 'ignored/\n*.log\n')
  scratch.commit('first')
  return scratch
}

function environment(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' }
}

// Branches, objects and git's list of worktrees may grow; nothing else in there is ours to change.
const ours = /^\.git\/(objects|worktrees|refs|logs\/refs|packed-refs|refs\/heads\/mxd)(\/|$)/

// git's own switch that lets a worktree have settings: without it, an agent's hooks could run for the user.
const allowed = /\[extensions\]\n\tworktreeConfig = true\n/

async function fingerprint(checkout: string): Promise<string> {
  const hash = createHash('sha256')
  const visit = async (path: string): Promise<void> => {
    if (ours.test(path)) return
    const full = join(checkout, path)
    const entry = await lstat(full)
    hash.update(`${path}\0${entry.mode}\0`)
    if (entry.isSymbolicLink()) hash.update(await readlink(full))
    else if (entry.isFile()) hash.update((await readFile(full, 'latin1')).replace(allowed, ''))
    else if (entry.isDirectory()) for (const name of (await readdir(full)).toSorted()) await visit(join(path, name))
  }
  for (const name of (await readdir(checkout)).toSorted()) await visit(name)
  return hash.digest('hex')
}
