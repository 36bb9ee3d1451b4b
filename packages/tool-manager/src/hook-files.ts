import { constants, existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path'
import { digestBytes, type Lock, type Policy, parseLauncher } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { isWithin } from './sandbox/mount.ts'
import { parseShellText, type SimpleCommand } from './shell/shell-text.ts'

/** What the hooks of a policy run from. */
export type HookFiles = {
  /** Files of the project, by their paths in it: a lock holds the digest of each. */
  project: string[]
  /** Files and folders from elsewhere on this machine, where no agent writes. */
  outside: string[]
}

const MAX_FILES = 256
const MAX_BYTES = 4 << 20

/** The project that an agent's file belongs to: the folder above it with a repository, else its own. */
export function hookRoot(base: string): string {
  for (let folder = resolve(base); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (folder === dirname(folder)) return resolve(base)
  }
}

/** Every file that the commands name. A program of the project brings the folder that it lies in, for it may load what is beside it. */
export async function findHookFiles(hooks: Policy['hooks'], root: string): Promise<HookFiles> {
  const [project, outside] = [new Set<string>(), new Set<string>()]
  for (const { command } of Object.values(hooks).flat()) {
    const { commands } = await parseShellText(command)
    refuseHiddenPrograms(command, commands)
    refuseNamed(command, root)
    for (const { word, isProgram } of commands.flatMap(namedWords)) {
      const file = resolve(root, word.replace(/^~(?=\/)/, homedir()))
      if (!existsSync(file)) continue
      if (!isWithin(file, root)) {
        if (isAbsolute(word) || word.startsWith('~/')) outside.add(file)
        continue
      }
      for (const each of listNamed(root, normalize(word), isProgram)) project.add(each)
    }
  }
  return { project: [...project].sort(), outside: [...new Set([...outside].filter(isMissing).map(besideOf))] }
}

/** Whether a command runs from approved files, by its words alone: what lies where they point can change. */
export async function usesApproved(command: string, approved: NonNullable<Lock['hook_files']>): Promise<boolean> {
  const { commands } = await parseShellText(command)
  const words = commands.flatMap(namedWords).filter(({ word }) => !isAbsolute(word) && !word.startsWith('~/'))
  const isApproved = (word: string) => {
    const path = normalize(word).replace(/\/$/, '')
    return Object.keys(approved).some((each) => each === path || each.startsWith(`${path}/`))
  }
  const unlocked = words.find((each) => isPath(each) && !isApproved(each.word))
  if (unlocked) throw notLocked(unlocked.word)
  return words.some(({ word }) => isApproved(word))
}

export function notLocked(path: string): MatrixError {
  return new MatrixError('HOOK_REFUSED', `A hook runs ${path}, of which the lock holds no digest.`, {
    hint: 'Run matrix lock: it takes down the bytes of every file that hooks run from.',
  })
}

/** What lies in a folder that agents write is not approved bytes, whether it is there by now or not. */
export function refuseNamed(command: string, folder: string): void {
  const names = new Set([folder, realpathIfThere(folder)])
  for (const [word] of command.replace(/(^|[\s"'=:(])~(?=\/)/g, `$1${homedir()}`).matchAll(/\/[^\s"'`;|&<>()$:]*/g)) {
    const spelled = normalize(word)
    if ([...names].some((name) => isWithin(spelled, name) || isWithin(deepestReal(spelled), name)))
      throw absoluteInside(word)
  }
}

/** What goes into a lock: the digest of every file that the hooks run from. */
export async function lockHookFiles(policy: Policy | undefined, base: string): Promise<Lock['hook_files']> {
  const root = hookRoot(base)
  const { project } = policy ? await findHookFiles(policy.hooks, root) : { project: [] }
  if (project.length === 0) return undefined
  const entries = project.map(async (path) => [path, digestBytes((await readHookFile(root, path)).bytes)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

/** A private copy of the approved bytes, which is all that a hook finds around it. Other bytes are refused. */
export async function copyHookFiles(root: string, approved: NonNullable<Lock['hook_files']>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'matrix-hooks-'))
  await keepHookFiles(root, approved, folder)
  return folder
}

/** Copies the approved bytes into a folder, which is removed again where one of them is another. */
export async function keepHookFiles(
  root: string,
  approved: NonNullable<Lock['hook_files']>,
  folder: string,
): Promise<void> {
  try {
    for (const [path, digest] of Object.entries(approved)) {
      const { bytes, isExecutable } = await readHookFile(root, path)
      if (digestBytes(bytes) !== digest) throw otherBytes(join(root, path))
      await mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o755 })
      await writeFile(join(folder, path), bytes, { flag: 'wx', mode: isExecutable ? 0o555 : 0o444 })
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** What a sandbox does not have by itself. */
function isMissing(file: string): boolean {
  return !['/usr', '/bin', '/lib', '/sbin', '/dev', '/proc', '/sys'].some((folder) => isWithin(file, folder))
}

/** A file with what lies beside it, unless that is a home or where one keeps its settings and secrets. */
function besideOf(file: string): string {
  const folder = statSync(file).isFile() ? dirname(file) : file
  const isPrivate = isWithin(homedir(), folder) || (dirname(folder) === homedir() && /\/\.[^/]*$/.test(folder))
  return isPrivate || dirname(folder) === '/' || folder === '/' ? file : folder
}

/** `isScript`: an interpreter reads it, so it is a file even without a slash. */
type NamedWord = { word: string; isProgram: boolean; isScript: boolean }

/** `origin/main` is none: what is no program has a file's ending, or says that it starts in the folder. */
function isPath({ word, isProgram, isScript }: NamedWord): boolean {
  if (/^\.{0,2}\/*$/.test(word)) return false
  return (
    isScript || (isProgram && word.includes('/')) || /^\.{1,2}\/|^[\w@.-]+(?:\/[\w@.-]+)*\/[\w@.-]+\.\w+$/.test(word)
  )
}

function namedWords(command: SimpleCommand): NamedWord[] {
  const { code, words } = readCommand(command)
  return words
    .filter((word) => word !== '')
    .map((word) => ({ word, isProgram: word === code, isScript: word === code && word !== words[0] }))
}

/** The words without assignments, empty where only the shell knows them, and the one among them that is run. */
function readCommand({ words }: SimpleCommand): { words: string[]; code: string } {
  const texts = words.map((word) => (word.includes(undefined) ? '' : word.join('')))
  const start = texts.findIndex((text, at) => !/^[A-Za-z_]\w*\+?=/.test(text || String(words[at]?.[0] ?? '')))
  const [program = '', ...rest] = start === -1 ? [':'] : texts.slice(start)
  const launcher = parseLauncher(program, rest)
  if (program === '.' || program === 'source') return { words: [program, ...rest], code: rest[0] ?? '' }
  const isHidden = interpreters.test(program) && rest.find((word) => !word.startsWith('-')) === ''
  const code = isHidden ? '' : launcher.kind === 'script' ? launcher.file : program
  return { words: [program, ...rest], code }
}

const interpreters = /^(?:.*\/)?(?:(?:ba|da|z|k|a)?sh|node|bun|deno|python[\d.]*|perl|ruby|php)$/

/** A program that only the shell knows may be one that an agent has written, as may one below a folder that it goes to. */
function refuseHiddenPrograms(text: string, commands: readonly SimpleCommand[]): void {
  const read = commands.map(readCommand)
  const leaves = read.some(({ words: [program, folder] }) => /^(?:cd|pushd)$/.test(program ?? '') && folder === '')
  const hidden = read.find(({ code }) => code === '' || (leaves && code.includes('/') && !isAbsolute(code)))
  if (hidden) throw hiddenProgram(text)
}

function realpathIfThere(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}

/** The path behind the links on the way to it, as far as there is one. */
function deepestReal(path: string): string {
  if (existsSync(path) || path === '/') return realpathSync(path)
  return join(deepestReal(dirname(path)), basename(path))
}

function listNamed(root: string, path: string, isProgram: boolean): string[] {
  if (statSync(join(root, path)).isFile()) {
    const folder = dirname(path)
    return isProgram && folder !== '.' ? listFolder(root, folder) : [path]
  }
  // The folder of the project itself would be all that agents work on.
  return path.replace(/\/$/, '') === '.' ? [] : listFolder(root, path.replace(/\/$/, ''))
}

function listFolder(root: string, folder: string): string[] {
  const found: string[] = []
  const folders = [folder]
  let bytes = 0
  for (let each = folders.pop(); each !== undefined; each = folders.pop())
    for (const entry of readdirSync(join(root, each), { withFileTypes: true })) {
      const path = `${each}/${entry.name}`
      if (entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== '.git') folders.push(path)
      if (!entry.isFile()) continue
      bytes += lstatSync(join(root, path)).size
      found.push(path)
      if (found.length > MAX_FILES || bytes > MAX_BYTES) throw tooMuch(folder)
    }
  return found
}

/** Through one descriptor, and through no link that leads out of the project. */
async function readHookFile(root: string, path: string): Promise<{ bytes: Buffer; isExecutable: boolean }> {
  const file = join(root, path)
  try {
    if (!isWithin(realpathSync(dirname(file)), realpathSync(root))) throw new Error('it leads out of the project')
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat()
      if (!stats.isFile() || stats.size > MAX_BYTES) throw new Error('it is not a file of a moderate size')
      return { bytes: await handle.readFile(), isExecutable: (stats.mode & 0o111) !== 0 }
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw new MatrixError('HOOK_REFUSED', `The hooks run from ${file}, which cannot be read: ${String(cause)}`, {
      hint: 'Put the file back, or run matrix lock again.',
      cause,
    })
  }
}

function otherBytes(file: string): MatrixError {
  return new MatrixError('HOOK_REFUSED', `${file} is not the hook that was approved: its bytes changed.`, {
    hint: 'Read what changed. If it is right, run matrix lock again; if not, put the old file back.',
  })
}

function absoluteInside(word: string): MatrixError {
  return new MatrixError('HOOK_REFUSED', `A hook names ${word}, which lies in the project.`, {
    hint: 'Write the path as it is in the project, such as ./tooling/guard.sh, so that the lock can hold its bytes.',
  })
}

function hiddenProgram(command: string): MatrixError {
  return new MatrixError('HOOK_REFUSED', `Which program a hook runs cannot be told from its text: ${command}`, {
    hint: 'Name the program and the script literally, such as bash ./tooling/guard.sh, so that the lock can hold its bytes.',
  })
}

function tooMuch(folder: string): MatrixError {
  return new MatrixError(
    'HOOK_REFUSED',
    `A hook runs from ${folder}, which holds more than ${MAX_FILES} files or ${MAX_BYTES >> 20} MiB.`,
    { hint: 'Move the hook, with what it loads, into a folder of its own.' },
  )
}
