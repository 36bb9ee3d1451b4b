import { chown, mkdir } from 'node:fs/promises'
import { homedir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import {
  boxHome,
  MEMORY_LIMIT,
  type OpenToolchains,
  openToolchains,
  passEnvironment,
  readRegistrySettings,
  resolveIdentity,
  type Surroundings,
} from '@matrix/tool-manager'
import type { HomeKeeper } from './project-storage.ts'
import { findRegistryAddresses } from './registry-address.ts'

/** Where programs that are installed from inside put what they install. */
const ownFolders = ['.local/bin', '.cargo/bin', 'go/bin', '.npm-global/bin']

/** It looks for leaks with ptrace, which no sandbox allows, and fails every program where it cannot. */
const noLeakCheck = { LSAN_OPTIONS: 'detect_leaks=0' }

export type BoxSurroundingsOptions = {
  dataDirectory: string
  toolchains: OpenToolchains
  homes: HomeKeeper
  /** What the user has set for the project of a worktree. */
  settings(worktree: string): Promise<{ environment: readonly string[]; cacheLimitGb: number }>
}

/** A home for the worktrees of one project, and the programs and variables that the user has. */
export async function boxSurroundings(worktree: string, options: BoxSurroundingsOptions): Promise<Surroundings> {
  const { environment, cacheLimitGb } = await options.settings(worktree)
  const { toolchains, files, env } = await findUserPart(options.toolchains, environment)
  const folders = await openFolders(worktree, { ...options, limitBytes: cacheLimitGb * 1e9 })
  // Matrix's own tools look after the memory of their sandbox as a whole.
  const limits = { memoryBytes: Number.POSITIVE_INFINITY }
  return { toolchains, files, ...folders, limits, env: { ...env, [MEMORY_LIMIT]: String(boxMemory()) } }
}

type UserPart = { toolchains: string[]; files: Surroundings['files']; env: Record<string, string> } & Pick<
  Awaited<ReturnType<OpenToolchains['current']>>,
  'skipped'
> &
  Pick<ReturnType<typeof passEnvironment>, 'withheld'>

/** What every sandbox has of the user's machine, whichever project it is for. */
export async function findUserPart(open: OpenToolchains, added: readonly string[]): Promise<UserPart> {
  const { searchPath, folders, env, skipped } = await open.current()
  const { env: all } = await open.environment()
  const passed = passEnvironment(all, added)
  const settings = readRegistrySettings(homedir(), all)
  const addresses = findRegistryAddresses({ env: all, home: homedir() }).env
  return {
    toolchains: [...new Set([...folders, ...passed.files, ...settings.paths])],
    files: settings.files,
    env: { ...noLeakCheck, ...settings.env, ...addresses, ...passed.env, ...env, PATH: boxPath(searchPath) },
    skipped,
    withheld: passed.withheld,
  }
}

/** The toolchains of this machine, without what lies in Matrix's own folder. */
export function openMachineToolchains(dataDirectory: string): OpenToolchains {
  return openToolchains({ home: homedir(), identity: resolveIdentity(), kept: [dataDirectory] })
}

/** What was installed from inside comes first; the node that Matrix runs on is there where the user has none. */
export function boxPath(searchPath: readonly string[]): string {
  const own = ownFolders.map((folder) => join(boxHome, folder))
  const last = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin']
  return [...new Set([...own, ...searchPath, ...last])].join(':')
}

/** Three quarters of the machine, so that a build which fits outside fits inside and the rest still has room. */
export function boxMemory(): number {
  const constrained = process.constrainedMemory?.() || Number.POSITIVE_INFINITY
  return Math.floor(Math.min(totalmem(), constrained) * 0.75)
}

/** Lie beside the worktrees of a project, so that what one of them has fetched is there for all. */
async function openFolders(
  worktree: string,
  { dataDirectory, homes, limitBytes }: BoxSurroundingsOptions & { limitBytes: number },
): Promise<Pick<Surroundings, 'home' | 'scratch'>> {
  const projects = `${join(dataDirectory, 'projects')}/`
  if (!worktree.startsWith(projects)) return {}
  const [projectId = ''] = worktree.slice(projects.length).split('/')
  const home = join(projects, projectId, 'home')
  await mkdir(home, { recursive: true, mode: 0o700 })
  const identity = resolveIdentity()
  if (identity) await chown(home, identity.uid, identity.gid)
  await homes.keep(home, limitBytes)
  return { home, scratch: join(projects, projectId, 'tmp') }
}
