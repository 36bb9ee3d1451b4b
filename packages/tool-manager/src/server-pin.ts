import {
  type DefinitionFinding,
  type HttpServer,
  isExactVersion,
  isPlaceholderDigest,
  type Lock,
  lintDefinitions,
  parseLauncher,
  proposeSideEffect,
  type ResolvedServer,
  type Server,
  type ServerDraft,
  type SideEffect,
  type StdioServer,
  serverSurfaceDigest,
  type Tool,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { type PackageStore, readLockFile } from './package-store.ts'
import type { LockFiles } from './server-launch.ts'
import type { ServerPool } from './server-pool.ts'
import { offerWorkspace } from './workspace-folder.ts'

/** A class for one tool with where it comes from, for a person to agree to. */
export type ProposedClass = {
  alias: string
  tool: string
  class: SideEffect
  reason: string
  /** Nothing says what the tool does: its class keeps it from the agent and grants nothing. */
  isDoubtful?: true
}

/** A server with everything about it pinned, before anybody has agreed to it. */
export type PinnedServer = {
  server: Server
  /** The same for a lock. */
  resolved: ResolvedServer
  classes: ProposedClass[]
  /** What a user should read before approving. */
  cuts: string[]
  /** Words in the definitions that speak to the model. */
  findings: DefinitionFinding[]
}

export type PinOptions = {
  /** One that starts what has no digest yet. */
  pool: ServerPool
  /** Where what floats is looked up. */
  store: PackageStore
  /** An empty folder for it to work in while it is looked at. */
  emptyFolder: string
  /** Where relative files start. */
  base?: string | undefined
  onStep?: ((what: string) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Finds out which bytes a server is, starts them boxed with nothing but reading allowed, and takes down what it has. */
export async function pinServer(found: Server | ServerDraft, options: PinOptions): Promise<PinnedServer> {
  const { pool, store, emptyFolder, base, signal, onStep = () => {} } = options
  const { draft, notes } = await offerWorkspace(found)
  const { alias } = draft
  const pinned: Server =
    draft.transport === 'stdio'
      ? await pinPackage(draft, { store, onStep, signal })
      : { ...(draft as HttpServer), version: versionOf(draft), tools: [] }
  onStep(`${alias}: asking for its tools`)
  const { tools, launch } = await pool.enumerate({
    server: pinned,
    // Reading too: servers that are given a folder look for it before they answer, and this one is empty.
    sideEffects: [...new Set<SideEffect>(['read', ...draft.tools.flatMap(classesOf)])],
    worktree: emptyFolder,
    base,
  })
  if (tools.length === 0) throw new MatrixError('TOOL_DRIFT', `"${alias}" has no tools, so there is nothing to lock.`)
  const classes = tools.map((surface) => ({ alias, ...classOf(draft, surface) }))
  const cuts = [...notes, ...tools.flatMap((tool) => cutsOf(alias, tool))]
  const findings = lintDefinitions(tools)
  const declared = tools.map((surface, index) => declare(draft, surface, classes[index]?.class))
  if (pinned.transport === 'http') {
    const server = { ...pinned, tools: declared, package_digest: serverSurfaceDigest(tools) }
    return { server, classes, cuts, findings, resolved: { transport: 'http', endpoint: pinned.endpoint, tools } }
  }
  if (!launch) throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" was not started from a package.`)
  const server = { ...pinned, tools: declared, package_digest: launch.package.digest }
  const resolved = { transport: 'stdio' as const, launch: launch.locked, package: launch.package, tools }
  return { server, classes, cuts, findings, resolved }
}

/** A lock has only the digest of what each package depends on; these are the lists themselves. */
export async function collectLockFiles(
  { servers }: { servers: Readonly<Record<string, Lock['servers'][string] | ResolvedServer>> },
  store: PackageStore,
): Promise<LockFiles> {
  const stored = await store.list()
  const wanted = Object.values(servers).flatMap((server) => (server.transport === 'stdio' ? [server.package] : []))
  const found = stored.filter(({ digest }) => wanted.some((each) => each.digest === digest))
  const entries = found.map(async (each) => [each.dependencies_digest, await readLockFile(each)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

function declare(draft: Server | ServerDraft, surface: ToolSurface, given: SideEffect = 'shell'): Tool {
  const known = draft.tools.find(({ name }) => name === surface.name)
  const description = known?.description ?? surface.description?.slice(0, MAX_DESCRIPTION)
  return {
    ...known,
    name: surface.name,
    ...(description !== undefined && { description }),
    side_effect_class: given,
  }
}

function classesOf(tool: (Server | ServerDraft)['tools'][number]): SideEffect[] {
  return 'side_effect_class' in tool ? [tool.side_effect_class] : []
}

/** A class that somebody wrote down stands; only what nobody has classified is guessed at, and said to be a guess. */
function classOf(draft: Server | ServerDraft, surface: ToolSurface): Omit<ProposedClass, 'alias'> {
  const known = draft.tools.find(({ name }) => name === surface.name)
  if (known && 'side_effect_class' in known && known.side_effect_class)
    return { tool: surface.name, class: known.side_effect_class, reason: 'as the manifest says' }
  const { class: proposed, reason, ...doubt } = proposeSideEffect(surface)
  // What runs elsewhere is in no sandbox of ours, and every call of it leaves this machine.
  if (draft.transport === 'http' && (proposed !== 'shell' || doubt.isDoubtful))
    return { tool: surface.name, class: 'network', reason: 'proposed: its server is remote' }
  return { tool: surface.name, class: proposed, reason: `proposed: ${reason}`, ...doubt }
}

/** As much as a description that a model reads at every turn should need. */
const MAX_DESCRIPTION = 1024

/** What is cut from a definition; a user who reads only the manifest does not see it. */
function cutsOf(alias: string, { name, description = '' }: ToolSurface): string[] {
  if (description.length <= MAX_DESCRIPTION) return []
  return [
    `The description of ${alias}/${name} has ${description.length} characters; the manifest keeps the first ${MAX_DESCRIPTION}.`,
  ]
}

/** An exact version for what floats, written into the arguments, and the digest of its bytes. */
async function pinPackage(
  draft: StdioServer | Extract<ServerDraft, { transport: 'stdio' }>,
  { store, onStep, signal }: { store: PackageStore; onStep: (what: string) => void; signal: AbortSignal | undefined },
): Promise<StdioServer> {
  const { alias, command, args = [], version, package_digest: digest } = draft
  const launcher = parseLauncher(command, args)
  const isPinned = isExactVersion(version) && !isPlaceholderDigest(digest)
  const base: StdioServer = { ...(draft as StdioServer), version: versionOf(draft), tools: [] }
  if (launcher.kind !== 'package' || launcher.ecosystem !== 'npm' || (isPinned && launcher.version === version))
    return base
  const named = args[launcher.argument]
  const isPlain = named === launcher.spec
  if (!isPlain && named !== `--package=${launcher.spec}`)
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" starts ${launcher.name} from within a longer text.`, {
      hint: 'Write the launcher itself: "command": "npx", "args": ["-y", "<package>", …].',
    })
  const wanted = isExactVersion(version) ? version : (launcher.version ?? 'latest')
  onStep(`${alias}: looking up ${launcher.name}@${wanted}`)
  const found = await store.lookUp(`${launcher.name}@${wanted}`, signal)
  const spec = `${found.name}@${found.version}`
  const pinned = args.with(launcher.argument, isPlain ? spec : `--package=${spec}`)
  return { ...base, args: pinned, version: found.version, package_digest: found.package_digest }
}

/** A local file and a remote server have no published version; theirs is counted from here. */
function versionOf({ version }: { version: string }): string {
  return isExactVersion(version) ? version : '0.0.0'
}
