import { dirname, join, relative, resolve } from 'node:path'
import { MatrixError, removeInvisible } from '@matrix/protocol'
import { findImports } from './instruction-imports.ts'
import type { Files } from './world.ts'

/** A file that people wrote for coding agents, as an agent is given it. */
export type Instruction = {
  /** As it is shown: relative to the repository, or below `~`. */
  path: string
  origin: 'home' | 'repository' | 'checkout'
  text: string
  /** What was cut, removed or not read. */
  notes: string[]
}

export type Instructions = {
  /** The most general first; the last word counts most. */
  given: Instruction[]
  /** Those of folders below, which the agent reads when it works there. */
  nested: string[]
}

export type InstructionPlaces = {
  worktree: string
  /** The user's own checkout, whose files count where the branch has none. */
  checkout: string
  home: string
}

/** In each folder the first that says something. */
export const instructionNames = ['AGENTS.md', 'CLAUDE.md', '.claude/CLAUDE.md'] as const
const homeNames = ['.config/AGENTS.md', '.codex/AGENTS.md', '.claude/CLAUDE.md'] as const

const MAX_FILE = 32_000
const MAX_ALL = 64_000
const MAX_DEPTH = 5
const MAX_FILES = 20

/** Reads what the user, then the repository, tells every coding agent, with what those files import. */
export async function readInstructions(
  files: Files,
  { worktree, checkout, home }: InstructionPlaces,
  findNested: (folder: string) => Promise<string[]>,
): Promise<Instructions> {
  const reader = openReader(files)
  for (const name of homeNames) if (await reader.add(join(home, dirname(name)), join(home, name), 'home', home)) break
  const isFound = (await reader.addFirst(worktree, 'repository')) || (await reader.addFirst(checkout, 'checkout'))
  const nested = await findNested(worktree)
  return { given: reader.given, nested: isFound ? nested.filter((path) => !isTop(path)) : nested }
}

function isTop(path: string): boolean {
  return (instructionNames as readonly string[]).includes(path)
}

type Origin = Instruction['origin']

function openReader(files: Files) {
  const given: Instruction[] = []
  const seen = new Set<string>()
  let left = MAX_ALL

  /** Never out of `folder`: neither by a path nor by a link. */
  async function add(folder: string, path: string, origin: Origin, base: string, depth = 0): Promise<boolean> {
    if (seen.has(path) || given.length >= MAX_FILES) return false
    const read = await readText(files, path, folder)
    if (read === undefined) return false
    seen.add(path)
    const shown = origin === 'home' ? `~/${relative(base, path)}` : relative(base, path)
    const { text, notes } = fit(read, Math.min(MAX_FILE, left))
    left -= text.length
    given.push({ path: shown, origin, text, notes })
    if (depth < MAX_DEPTH)
      for (const name of findImports(text)) {
        const target = name.startsWith('~/') ? undefined : resolve(dirname(path), name)
        if (target?.startsWith(`${folder}/`)) await add(folder, target, origin, base, depth + 1)
        else notes.push(`${name} is not imported: it is outside of ${origin === 'home' ? shown : 'the repository'}`)
      }
    return true
  }

  return {
    given,
    add,
    async addFirst(folder: string, origin: Origin): Promise<boolean> {
      for (const name of instructionNames) if (await add(folder, join(folder, name), origin, folder)) return true
      return false
    },
  }
}

type Read = { text: string; notes: string[] }

/** Undefined where there is none; a file that cannot be used says why. */
async function readText(files: Files, path: string, folder: string): Promise<Read | undefined> {
  try {
    const found = await files.read(path, { inside: folder })
    if (found === undefined || found.trim() === '') return undefined
    const { text, removed } = removeInvisible(found.trim())
    return { text, notes: removed > 0 ? [`${removed} invisible characters were removed`] : [] }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { text: '', notes: [`not read: ${error.message}`] }
  }
}

function fit({ text, notes }: Read, limit: number): Read {
  if (text.length <= limit) return { text, notes }
  return { text: text.slice(0, limit), notes: [...notes, `cut after ${limit} of ${text.length} characters`] }
}
