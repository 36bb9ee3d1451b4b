import { mkdir } from 'node:fs/promises'
import type { Surroundings } from '@matrix/tool-manager'
import { type BoxSurroundingsOptions, boxSurroundings } from './box-surroundings.ts'
import { gitSurroundings } from './git-surroundings.ts'
import { outputSurroundings } from './output-folder.ts'
import { skillCopiesBeside } from './skill-files.ts'

export type SurroundingsOptions = BoxSurroundingsOptions & {
  /** Without a sandbox, tools have the user's own home, programs and environment. */
  isBoxing: boolean
}

/** What an agent's tools have around a worktree, put together from all that knows a part of it. */
export async function openSurroundings(worktree: string, options: SurroundingsOptions): Promise<Surroundings> {
  const parts = [await gitSurroundings(worktree), await outputSurroundings(worktree), await skillSurroundings(worktree)]
  if (options.isBoxing) parts.push(await boxSurroundings(worktree, options))
  return join(parts)
}

/** The approved skills of the project, those included that are approved while a sandbox runs. */
async function skillSurroundings(worktree: string): Promise<Surroundings> {
  const copies = skillCopiesBeside(worktree)
  if (!copies) return { env: {} }
  await mkdir(copies, { recursive: true, mode: 0o755 })
  return { readable: [copies], env: {} }
}

function join(parts: readonly Surroundings[]): Surroundings {
  return {
    readable: parts.flatMap(({ readable = [] }) => readable),
    toolchains: parts.flatMap(({ toolchains = [] }) => toolchains),
    writable: parts.flatMap(({ writable = [] }) => writable),
    files: parts.flatMap(({ files = [] }) => files),
    overlays: parts.flatMap(({ overlays = [] }) => overlays),
    home: parts.find(({ home }) => home !== undefined)?.home,
    scratch: parts.find(({ scratch }) => scratch !== undefined)?.scratch,
    limits: Object.assign({}, ...parts.map(({ limits }) => limits)),
    env: Object.assign({}, ...parts.map(({ env }) => env)),
  }
}
