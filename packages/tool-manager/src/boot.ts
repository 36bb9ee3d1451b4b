import {
  type ArgumentRoles,
  attenuate,
  findToolSettings,
  type Grant,
  isOwnServer,
  isToolVisible,
  type Lock,
  type LockedServer,
  type LockedTool,
  limitsInSkill,
  type Manifest,
  manifestDigest,
  type PathBase,
  type Policy,
  type Server,
  type SideEffect,
  type SkillLimit,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError, type ToolSpec, type UntrustedSource } from '@matrix/protocol'
import { type ApprovalMemory, type ApprovalPort, type Approvals, openApprovals } from './approval.ts'
import { builtinSurfaces, findBuiltin } from './builtin/builtin-surface.ts'
import { defaultPathBase } from './call-target.ts'
import { type GateRules, isDenied, pinnedTool, policyName } from './gate.ts'
import { type Hooks, openHooks } from './hook.ts'
import { hookRoot } from './hook-files.ts'
import type { ManagedServer } from './managed-server.ts'
import { hasPathRules, pathRulesOf } from './path-confinement.ts'
import { buildRegistry, type Registry, type ResolvedTool } from './registry.ts'
import { findHostRule } from './sandbox/egress-rule.ts'
import type { LockFiles } from './server-launch.ts'
import type { PooledServer, ServerLease, ServerPool } from './server-pool.ts'
import type { Spill } from './tool-result.ts'
import { findUnavailable, type UnavailableTools, unavailableSpecs } from './unavailable-tool.ts'

export type BootOptions = {
  /** Shared by all agents of the process. */
  pool: ServerPool
  manifest: Manifest
  /** One that has passed `checkLock`. With it every definition is pinned, and the agent starts without starting a server. */
  lock?: Lock | undefined
  /** What was kept beside the lock, so that the same dependencies can be fetched again. */
  lockFiles?: LockFiles | undefined
  /** The lock's when absent. */
  policy?: Policy | undefined
  /** What those above this agent may do: the agent may do no more than any of them. */
  above?: readonly Grant[] | undefined
  /** The skills that are attached, asked again for each call. */
  skills?: (() => readonly SkillLimit[]) | undefined
  /** Patterns of tools that the user denies, whatever anyone else says. */
  deny?: readonly string[] | undefined
  /** The folder the agent works in. */
  worktree?: string | undefined
  /** Where relative files of the manifest start. */
  base?: string | undefined
  /** Where the files of its hooks are kept; the project that `base` belongs to when absent. */
  hookRoot?: string | undefined
  approve?: ApprovalPort | undefined
  /** What speaks against a call that the gate lets through, because of what was read before it. */
  flow?: FlowCheck | undefined
  always?: ApprovalMemory | undefined
  spill?: Spill | undefined
  /** How long a call may take without progress where neither the manifest nor the tool has a limit of its own. */
  toolTimeoutMs?: number | undefined
  onEvent?: ((event: CallEvent) => void) | undefined
}

/** Asked once the gate has no objection. `led` says which untrusted content was read before. */
export type FlowCheck = (
  tool: ResolvedTool,
  input: Record<string, unknown>,
) => Promise<{ verdict: 'ask' | 'deny'; reason: string; led: UntrustedSource[] } | undefined>

/** What happened around a call, for the person who reads the log. */
export type CallEvent =
  | { type: 'call_denied'; uri: string; step: string; reason: string }
  | { type: 'call_failed'; uri: string; error: MatrixError }
  | { type: 'hook_failed'; command: string; output: string }

/** The tools of one agent: what `executeTool` calls, and what a model is told of. */
export type Tools = {
  registry: Registry
  gate: GateRules
  hooks: Hooks
  approvals: Approvals
  flow: FlowCheck | undefined
  pool: ServerPool
  spill: Spill | undefined
  toolTimeoutMs: number | undefined
  /** Tools of servers that were left out: a call of one answers SERVER_UNAVAILABLE. */
  unavailable: UnavailableTools
  serverOf(tool: ResolvedTool): PooledServer
  /** What a lock or Matrix itself says of a tool; undefined where only its server can. */
  definitionOf(tool: ResolvedTool): ToolSurface | undefined
  /** Whether its sandbox holds it to its lists of paths, so that its arguments need not be looked at. */
  isConfined(tool: ResolvedTool): boolean
  /** Which of its arguments are paths, commands and hosts, where that is known. */
  rolesOf(tool: ResolvedTool): ArgumentRoles | undefined
  report(event: CallEvent): void
  /** What the model is told: the manifest's words and the agreed schemas. Waits only for servers without a lock. */
  specs(options?: { waitMs?: number }): Promise<ToolSpec[]>
  /** Whether a server runs for this agent at the moment. */
  isRunning(alias: string): boolean
  /** Starts every server, side by side, and says of each whether it is what the manifest says. */
  connectAll(): Promise<ServerReport[]>
  /** Ends what runs for this agent, until it calls again. */
  park(): Promise<void>
  close(): Promise<void>
}

export type ServerReport = { alias: string; tookMs: number } & (
  | { status: 'verified'; tools: ToolSurface[] }
  | { status: 'refused' | 'unavailable'; error: MatrixError }
)

/** Prepares the tools of one agent. Refuses what is malformed or grants too much; starts nothing. */
export function bootTools(options: BootOptions): Tools {
  const { pool, manifest, lock, above = [], skills, deny, worktree } = options
  if (lock) assertLocked(lock, manifest)
  const grant: Grant = { manifest, policy: options.policy ?? lock?.policy }
  assertWithin(grant, above)

  const registry = buildRegistry(manifest)
  const base: PathBase = defaultPathBase(worktree ?? process.cwd())
  const callable = registry.tools.filter((tool) => isCallable(tool, grant, skills?.() ?? [], deny))
  const leases = new Map<string, { alias: string; lease: ServerLease }>()
  // A lease is taken when a class of a server is first wanted: an agent with thirty servers uses three.
  const leased = (server: Server, wanted: SideEffect | undefined): PooledServer => {
    const { alias } = server
    const ofServer = callable.filter((tool) => tool.server.alias === alias)
    const isTogether = sharesProcess(server, lockedServer(lock, server))
    const group = wanted === undefined ? undefined : isTogether ? apart(server, wanted, grant.policy) : wanted
    const served = ofServer.filter(({ tool }) => isOfGroup(tool.side_effect_class, group))
    const key = group === undefined ? alias : `${alias} ${group}`
    const known = leases.get(key)
    if (known) return known.lease.server
    const lease = pool.lease({
      server,
      locked: lockedServer(lock, server),
      lockFiles: options.lockFiles,
      sideEffects: sideEffectsOf(served, ofServer, manifest),
      hosts: hostsOf(served, grant.policy),
      paths: pathRulesOf(served, grant.policy, base),
      worktree,
      base: options.base,
    })
    leases.set(key, { alias, lease })
    return lease.server
  }
  /** What a server lists is the same in every class; the one that can do least is asked. */
  const serverOf = (alias: string): PooledServer => {
    const server = manifest.servers.find((each) => each.alias === alias)
    if (!server) throw new MatrixError('TOOL_UNKNOWN', `The manifest has no server "${alias}".`)
    const classes = callable.filter((tool) => tool.server.alias === alias).map(({ tool }) => tool.side_effect_class)
    return leased(
      server,
      leastFirst.find((each) => classes.includes(each)),
    )
  }

  const unavailable = findUnavailable({ unavailable: lock?.unavailable, policy: grant.policy })
  const hooks = openHooks(grant.policy?.hooks ?? {}, {
    ...pool,
    worktree,
    cwd: base.cwd,
    root: options.hookRoot ?? hookRoot(options.base ?? base.cwd),
    approved: lock?.hook_files,
  })

  return {
    registry,
    pool,
    gate: { grant, skills, deny, base },
    hooks,
    approvals: openApprovals({ port: options.approve, always: options.always }),
    flow: options.flow,
    spill: options.spill,
    toolTimeoutMs: options.toolTimeoutMs,
    unavailable,
    serverOf: ({ server, tool }) => leased(server, tool.side_effect_class),
    definitionOf: (tool) => definitionOf(tool, lock),
    rolesOf: (tool) => rolesOf(tool, lock),
    isConfined: (tool) => isConfined(tool, pool),
    report: (event) => options.onEvent?.(event),
    async specs({ waitMs = 10_000 } = {}) {
      const unlocked = manifest.servers.filter((server) => !lockedServer(lock, server))
      const needed = unlocked.filter(({ alias }) => callable.some(({ server }) => server.alias === alias))
      const discovered = await discover(needed, serverOf, waitMs)
      const specs = callable.map((tool) => specOf(tool, lockedServer(lock, tool.server), discovered))
      return [...specs, ...unavailableSpecs(unavailable)]
    },
    isRunning: (alias) => [...leases.values()].some((each) => each.alias === alias && each.lease.server.isRunning()),
    connectAll: () => Promise.all(manifest.servers.map(({ alias }) => report(alias, serverOf(alias)))),
    async park() {
      await Promise.all([...leases.values()].map(({ lease }) => lease.server.park()))
    },
    async close() {
      const held = [...leases.values()]
      leases.clear()
      await Promise.all([...held.map(({ lease }) => lease.release()), hooks.close()])
    },
  }
}

function assertLocked(lock: Lock, manifest: Manifest): void {
  if (manifestDigest(manifest) !== lock.manifest_digest)
    throw new MatrixError('TOOL_DRIFT', `The lock of ${manifest.agent} was made for another version of the manifest.`)
}

/** Throws when a grant allows something that one of those above it does not. */
export function assertWithin(grant: Grant, above: readonly Grant[]): void {
  for (const outer of above) {
    const attenuation = attenuate(outer, grant)
    if (attenuation.allowed) continue
    const [first] = attenuation.reasons
    throw new MatrixError(
      'AUTHORIZATION_DENIED',
      `${grant.manifest.agent} may do more than ${outer.manifest.agent}, which stands above it. ${first?.message}`,
      { hint: 'Take it out of the one below, or give it to the one above first.' },
    )
  }
}

/** What the model is shown and the box must allow; the gate decides each call on its own. */
function isCallable(
  tool: ResolvedTool,
  { manifest, policy }: Grant,
  skills: readonly SkillLimit[],
  deny: readonly string[] = [],
): boolean {
  const { side_effect_class: needs } = tool.tool
  const name = policyName(tool)
  return (
    needs !== 'chain' &&
    manifest.allowed_side_effects.includes(needs) &&
    (!policy || isToolVisible(policy.tools, name)) &&
    !isDenied(deny, name) &&
    skills.every((skill) => limitsInSkill(skill, pinnedTool(tool)) !== undefined)
  )
}

const leastFirst = ['read', 'write', 'network', 'shell'] as const

/**
 * Whether one process serves the tools of every class. Other servers run once per class in use, so that a `network` tool cannot
 * start what its `shell` sibling can. Matrix's own tools start nothing but what the call names.
 */
function sharesProcess(server: Server, locked: LockedServer | undefined): boolean {
  return server.transport === 'http' || isOwnServer(server) || (locked?.transport === 'stdio' && !!locked.keeps_state)
}

/** Which of Matrix's own tools share a process: all, unless only the shell is held to lists of paths. */
function apart(server: Server, wanted: SideEffect, policy: Policy | undefined): ProcessGroup | undefined {
  if (
    !isOwnServer(server) ||
    !policy ||
    !hasPathRules(findToolSettings(policy.toolsSettings, { server: undefined, tool: 'bash' }))
  )
    return undefined
  return wanted === 'shell' ? 'shell' : 'other'
}

/** The tools of one class, or all that are no shell. */
type ProcessGroup = SideEffect | 'other'

function isOfGroup(sideEffect: SideEffect, group: ProcessGroup | undefined): boolean {
  if (group === undefined) return true
  return group === 'other' ? sideEffect !== 'shell' : sideEffect === group
}

/** A shell reaches the network by what it starts, so it has it wherever the agent may; and it writes where its server does. */
function sideEffectsOf(
  served: readonly ResolvedTool[],
  ofServer: readonly ResolvedTool[],
  { allowed_side_effects: may }: Manifest,
): SideEffect[] {
  const classes = classesOf(served)
  if (!classes.includes('shell')) return classes
  const writes = classesOf(ofServer).includes('write')
  return [...new Set<SideEffect>([...classes, ...(writes ? ['write' as const] : []), ...may.filter(isNetwork)])]
}

function classesOf(tools: readonly ResolvedTool[]): SideEffect[] {
  return [...new Set(tools.map(({ tool }) => tool.side_effect_class))]
}

function isNetwork(sideEffect: SideEffect): boolean {
  return sideEffect === 'network'
}

/**
 * The hosts of those of its tools that reach out, `*` for each of them without a list. Undefined where none does: then only
 * what the project lists is reached. An entry that a box cannot be held to allows nothing.
 */
function hostsOf(served: readonly ResolvedTool[], policy: Policy | undefined): string[] | undefined {
  const reaching = served.filter(({ tool }) => tool.side_effect_class === 'network')
  if (reaching.length === 0) return undefined
  const lists = reaching.map((tool) => policy && findToolSettings(policy.toolsSettings, policyName(tool))?.allowedHosts)
  const hosts = lists.flatMap((list) => list ?? ['*']).map((host) => host.toLowerCase().replace(/\.$/, ''))
  return [...new Set(hosts)].filter((host) => findHostRule(host))
}

/** Whether the sandbox of a tool holds it to its lists of paths, whatever its arguments are. */
function isConfined({ server, tool }: ResolvedTool, pool: ServerPool): boolean {
  return pool.sandbox.isBoxing && isOwnServer(server) && tool.side_effect_class === 'shell'
}

function lockedServer(lock: Lock | undefined, { alias }: Server): LockedServer | undefined {
  return lock && Object.hasOwn(lock.servers, alias) ? lock.servers[alias] : undefined
}

function definitionOf({ server, tool }: ResolvedTool, lock: Lock | undefined): ToolSurface | undefined {
  if (isOwnServer(server)) return findBuiltin(tool.name)?.surface
  return lockedTool(lockedServer(lock, server), tool.name)?.definition
}

function rolesOf({ server, tool }: ResolvedTool, lock: Lock | undefined): ArgumentRoles | undefined {
  if (isOwnServer(server)) return findBuiltin(tool.name)?.roles
  return lockedTool(lockedServer(lock, server), tool.name)?.arguments ?? tool.arguments
}

function lockedTool(locked: LockedServer | undefined, name: string): LockedTool | undefined {
  return locked && Object.hasOwn(locked.tools, name) ? locked.tools[name] : undefined
}

type Discovered = ReadonlyMap<string, ReadonlyMap<string, ToolSurface>>

/** One that is slow or dead delays nobody for longer than the wait; its tools are offered all the same. Our own are known unasked. */
async function discover(
  servers: readonly Server[],
  serverOf: (alias: string) => ManagedServer,
  waitMs: number,
): Promise<Discovered> {
  const found = new Map<string, ReadonlyMap<string, ToolSurface>>()
  const [known, unknown] = [servers.filter(isOwnServer), servers.filter((server) => !isOwnServer(server))]
  for (const { alias } of known) found.set(alias, new Map(builtinSurfaces().map((tool) => [tool.name, tool])))
  if (unknown.length === 0) return found
  const asked = unknown.map(({ alias }) =>
    serverOf(alias)
      .use(async ({ tools }) => void found.set(alias, tools))
      .catch(() => {}),
  )
  let clock: NodeJS.Timeout | undefined
  const patience = new Promise((done) => {
    clock = setTimeout(done, waitMs)
  })
  await Promise.race([Promise.all(asked), patience])
  clearTimeout(clock)
  return new Map(found)
}

function specOf(
  { wireName, server, tool }: ResolvedTool,
  locked: LockedServer | undefined,
  discovered: Discovered,
): ToolSpec {
  const agreed = lockedTool(locked, tool.name)?.definition
  const surface = agreed ?? discovered.get(server.alias)?.get(tool.name)
  return {
    name: wireName,
    // A server's own words count only where a person has agreed to them.
    description: tool.description ?? agreed?.description ?? tool.name,
    inputSchema: leanSchema(surface?.inputSchema ?? { type: 'object' }),
  }
}

/** Without what costs tokens in every request and tells a model nothing: the dialect, and limits that every number keeps. */
function leanSchema({ $schema: _, ...schema }: ToolSpec['inputSchema']): ToolSpec['inputSchema'] {
  const properties = schema.properties
  if (typeof properties !== 'object' || properties === null) return schema
  const lean = Object.entries(properties).map(([name, each]) => {
    const { maximum, ...rest } = (each ?? {}) as Record<string, unknown>
    return [name, maximum === Number.MAX_SAFE_INTEGER ? rest : each]
  })
  return { ...schema, properties: Object.fromEntries(lean) }
}

async function report(alias: string, server: ManagedServer): Promise<ServerReport> {
  const start = performance.now()
  const took = () => ({ alias, tookMs: performance.now() - start })
  try {
    const tools = await server.use(async (live) => [...live.tools.values()])
    return { ...took(), status: 'verified', tools }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    const isRefused = ['TOOL_DRIFT', 'PACKAGE_MISMATCH', 'DEPENDENCY_REFUSED'].includes(error.code)
    return { ...took(), status: isRefused ? 'refused' : 'unavailable', error }
  }
}
