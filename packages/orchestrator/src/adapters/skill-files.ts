import { constants, type Dirent } from 'node:fs'
import { chmod, mkdir, open, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import type { SkillFile, SkillFolder, SkillFolders } from '../skills/skill-shelf.ts'

export type SkillPlaces = {
  /** The user's own checkout: what agents change in their worktrees is no skill until the user has it. */
  checkout: string
  home: string
  /** Where approved copies are kept, in the project's own folder. */
  directory: string
}

const skillFolders = [
  '.agents/skills',
  '.claude/skills',
  '.codex/skills',
  '.gemini/skills',
  '.cursor/skills',
  '.kiro/skills',
]
const homeFolders = [
  '.mxd/skills',
  ...skillFolders,
  '.copilot/skills',
  '.config/opencode/skills',
  '.config/opencode/skill',
]
const repositoryFolders = [
  '.mxd/skills',
  ...skillFolders,
  '.github/skills',
  '.opencode/skills',
  '.opencode/skill',
  'skills',
]

const MAX_FILES = 200
const MAX_BYTES = 4 * 1024 * 1024
const MAX_DEPTH = 6
const MAX_SKILLS = 200

/** Skills on this machine: the user's own first, so that no repository takes the name of one. */
export function openSkillFolders({ checkout, home, directory }: SkillPlaces): SkillFolders {
  const kept = join(directory, 'skills')
  return {
    async find() {
      const ofHome = await foldersIn(home, homeFolders, 'home')
      const ofRepository = await foldersIn(checkout, repositoryFolders, 'repository')
      return [...ofHome, ...ofRepository].slice(0, MAX_SKILLS)
    },
    read: ({ path, inside }) => readFolder(path, inside),
    async keep(name, files) {
      const target = join(kept, name)
      const temporary = `${target}.tmp`
      await rm(temporary, { recursive: true, force: true })
      for (const { path, bytes, isExecutable } of files) {
        const file = join(temporary, path)
        await mkdir(dirname(file), { recursive: true, mode: 0o755 })
        await writeFile(file, bytes, { mode: isExecutable ? 0o755 : 0o644, flag: 'wx' })
      }
      await chmod(kept, 0o755)
      await rm(target, { recursive: true, force: true })
      await rename(temporary, target)
      return target
    },
    async readKept(name) {
      const path = join(kept, name)
      return { path, files: await readFolder(path, kept) }
    },
  }
}

/** Where the approved copies of a project lie, by one of its worktrees. */
export function skillCopiesBeside(worktree: string): string | undefined {
  const worktrees = dirname(worktree)
  return basename(worktrees) === 'worktrees' ? join(dirname(worktrees), 'skills') : undefined
}

async function foldersIn(
  root: string,
  names: readonly string[],
  source: SkillFolder['source'],
): Promise<SkillFolder[]> {
  const found: SkillFolder[] = []
  for (const name of names) {
    const entries = await readdir(join(root, name), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!(entry.isDirectory() || entry.isSymbolicLink()) || entry.name.startsWith('.')) continue
      const path = join(root, name, entry.name)
      // Collections keep other things in a folder of that name; only what says that it is a skill of Matrix counts.
      const marks = name === 'skills' ? ['SKILL.mtx'] : ['SKILL.md', 'SKILL.mtx']
      if (!(await hasAny(path, marks))) continue
      const shown = printableLine(join(source === 'home' ? '~' : '', name, entry.name))
      found.push({ name: entry.name, path, shown, source, inside: root })
    }
  }
  return found
}

async function hasAny(folder: string, names: readonly string[]): Promise<boolean> {
  const entries = await readdir(folder).catch(() => [])
  return entries.some((entry) => names.some((name) => name.toLowerCase() === entry.toLowerCase()))
}

/** Reads a folder once: what is shown, hashed and kept are the same bytes. */
async function readFolder(folder: string, inside: string): Promise<SkillFile[]> {
  const real = await realpath(folder).catch((cause) => {
    throw invalid(folder, `cannot be read (${cause.code})`)
  })
  if (!real.startsWith(`${await realpath(inside)}${sep}`))
    throw invalid(folder, `is a link that leads out of ${inside}`)
  const files: SkillFile[] = []
  await readInto(files, { folder: real, below: '', shown: folder, depth: 0 })
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

type Level = { folder: string; below: string; shown: string; depth: number }

async function readInto(files: SkillFile[], { folder, below, shown, depth }: Level): Promise<void> {
  if (depth > MAX_DEPTH) throw invalid(shown, `has folders more than ${MAX_DEPTH} deep`)
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    checkName(shown, entry)
    if (entry.name === '.git' || entry.name === '.DS_Store') continue
    if (entry.isDirectory()) await readInto(files, { folder, below: path, shown, depth: depth + 1 })
    else files.push(await readOne(folder, path, shown, bytesLeft(files, shown)))
  }
}

function checkName(shown: string, { name }: Dirent): void {
  if (printableLine(name) !== name || name.length > 200)
    throw invalid(shown, `holds a file whose name cannot be shown: ${printableLine(name).slice(0, 100)}`)
}

function bytesLeft(files: readonly SkillFile[], shown: string): number {
  if (files.length >= MAX_FILES) throw invalid(shown, `has more than ${MAX_FILES} files`)
  return MAX_BYTES - files.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

/** A pipe is not waited for, and a link is not followed: what it leads to could change without the folder doing so. */
async function readOne(folder: string, path: string, shown: string, left: number): Promise<SkillFile> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  const file = await open(join(folder, path), flags).catch((cause) => {
    throw invalid(
      shown,
      cause.code === 'ELOOP' ? `holds a link: ${path}` : `holds ${path}, which cannot be read (${cause.code})`,
    )
  })
  try {
    const found = await file.stat()
    if (!found.isFile()) throw invalid(shown, `holds ${path}, which is not a regular file`)
    if (found.size > left) throw invalid(shown, `has more than ${MAX_BYTES} bytes`)
    return { path, bytes: await file.readFile(), isExecutable: (found.mode & 0o111) !== 0 }
  } finally {
    await file.close()
  }
}

function invalid(folder: string, what: string): MatrixError {
  return new MatrixError('SKILL_INVALID', `The skill folder ${printableLine(folder)} ${what}.`)
}
