import { createHash } from 'node:crypto'
import { accessSync, constants, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import type { SetupChoice } from '@matrix/protocol/http'
import { findIdentity, runGit } from '@matrix/task-tree'
import { openProjectRegistry } from '../project-registry.ts'
import { openSetupDecisions, type SetupDecisions } from '../setup/setup-decision.ts'
import type { RepositoryScript, SetupHost } from '../setup/setup-host.ts'
import { readScript } from '../setup/setup-script.ts'
import type { World } from '../world.ts'
import { nodeWorld } from './node-world.ts'

const scriptPath = '.mxd/hooks/setup_worktree.sh'
const MAX_READ = 1 << 20

type Options = Pick<SetupHost, 'run' | 'sandbox' | 'proposeHosts'> & {
  /** The user's checkout. */
  checkout: string
  decisions: SetupDecisions
  world: Pick<World, 'files'>
}

/** The setup of a project on this machine: its checkout is looked at, nothing of it is run. */
export function openSetupHost({ checkout, decisions, world, run, sandbox, proposeHosts }: Options): SetupHost {
  return {
    decisions,
    run,
    sandbox,
    proposeHosts,
    findScript: () => findScript(checkout),
    checkIdentity: () => findIdentity(checkout),
    async files() {
      const { text } = await runGit(['-C', checkout, 'ls-files', '-z'], { maxBytes: 256 << 20, mayCut: true })
      return {
        paths: text().split('\0').filter(Boolean),
        read: (path) => readSmall(world, checkout, path),
        hasProgram,
      }
    },
  }
}

async function findScript(checkout: string): Promise<RepositoryScript | undefined> {
  const path = join(checkout, scriptPath)
  const about = await stat(path).catch(() => undefined)
  if (!about) return undefined
  // A pipe or a device would be read for ever.
  if (!about.isFile() || about.size > MAX_READ) return unusable(path, 'is not a regular file of at most 1 MB')
  const bytes = await readFile(path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  try {
    const { text, notes } = readScript(bytes, scriptPath)
    return { path, sha256, text, notes }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { path, sha256, text: undefined, notes: [`${error.message}: left out.`] }
  }
}

function unusable(path: string, why: string): RepositoryScript {
  return { path, sha256: 'unreadable', text: undefined, notes: [`${scriptPath} ${why}: left out.`] }
}

async function readSmall({ files }: Pick<World, 'files'>, checkout: string, path: string): Promise<string | undefined> {
  const full = join(checkout, path)
  const about = await stat(full).catch(() => undefined)
  if (!about?.isFile() || about.size > 64 * MAX_READ) return undefined
  return files.read(full, { inside: checkout }).catch(() => undefined)
}

function hasProgram(name: string): boolean {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .some((folder) => isExecutable(join(folder, name)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** What the user decided for a repository in this data directory, if anything. */
export async function findSetupChoice(dataDirectory: string, checkout: string): Promise<SetupChoice | undefined> {
  const world = nodeWorld()
  const registry = await openProjectRegistry(world, { dataDirectory, findRepository: async () => undefined })
  const project = registry.list().find(({ path }) => path === checkout)
  const file = project && join(dataDirectory, 'projects', project.id, 'setup.json')
  const decision = file && (await openSetupDecisions(world, file).read())
  if (!decision) return undefined
  const { seen } = decision
  if (decision.choice === 'none') return { choice: 'none', seen }
  const { script, files } = decision
  return { choice: 'script', script, files, seen }
}
