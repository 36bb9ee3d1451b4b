import type { Socket } from 'node:net'
import {
  digestValue,
  type HttpServer,
  type LockedServer,
  type Server,
  type SideEffect,
  type StdioServer,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { boundedFetch } from './bounded-fetch.ts'
import { type Connection, connect, type Era, findOtherEra } from './connection.ts'
import { type Lookup, resolveCredentials } from './credential.ts'
import { type ManagedServer, openManagedServer, type ServerEvent } from './managed-server.ts'
import type { PackageProgress, PackageStore } from './package-store.ts'
import { guardPeer } from './peer-guard.ts'
import { programTransport } from './program-transport.ts'
import { openRedactor, type Redactor } from './redactor.ts'
import { type AskedHosts, openAskedHosts } from './sandbox/asked-hosts.ts'
import type { BoxLaunch } from './sandbox/box.ts'
import type { BoxPolicy } from './sandbox/box-policy.ts'
import type { HostList } from './sandbox/egress-proxy.ts'
import { findRuledPaths, type PathRules } from './sandbox/path-rule.ts'
import type { RunningProgram } from './sandbox/running-program.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { type LockFiles, resolveLaunch, type ServerLaunch } from './server-launch.ts'

export type ServerPoolOptions = {
  sandbox: Sandbox
  store: PackageStore
  /** Where credentials come from; the environment of this process when absent. */
  lookUp?: Lookup | undefined
  redactor?: Redactor | undefined
  /** Runs servers with placeholder digests, and says so each time. */
  bootstrap?: boolean | undefined
  /** Reads every byte of a package before it is started, also where nothing was written to it since the last time. */
  isFull?: boolean | undefined
  /** What was kept beside locks: without it, the dependencies of a package that is not in the store yet are today's. */
  lockFiles?: LockFiles | undefined
  /** What Matrix's own tools have around a worktree: git, toolchains, a home. */
  surroundings?: ((worktree: string) => Promise<Surroundings>) | undefined
  /** The hosts that the project of a worktree lists, asked for at every connection; none when absent. */
  hosts?: ((worktree: string | undefined) => Promise<readonly string[]>) | undefined
  connectTimeoutMs?: number | undefined
  idleMs?: number | undefined
  onEvent?: ((event: PoolEvent) => void) | undefined
}

/** What the box of Matrix's own tools has around a worktree, in the words of its policy. */
export type Surroundings = Pick<
  BoxPolicy,
  'readable' | 'toolchains' | 'writable' | 'home' | 'scratch' | 'files' | 'overlays' | 'limits'
> & {
  env: Readonly<Record<string, string>>
}

export type PoolEvent =
  | (ServerEvent & { identity: string })
  | { type: 'package_progress'; alias: string; progress: PackageProgress }
  | { type: 'placeholder_used'; alias: string }
  | { type: 'protocol_violated'; alias: string; what: string }

/** How one agent uses a server. */
export type ServerUse = {
  server: Server
  locked?: LockedServer | undefined
  /** What was kept beside the lock; the pool's own when absent. */
  lockFiles?: LockFiles | undefined
  /** The classes of those of its tools that the agent can call: all that its box allows. */
  sideEffects: readonly SideEffect[]
  /** What `/workspace` stands for in arguments and environment. */
  worktree?: string | undefined
  /** The only hosts that it reaches; with `*` also those of the project, and those alone when absent. */
  hosts?: readonly string[] | undefined
  /** The lists of paths that all of its tools are held to. */
  paths?: PathRules | undefined
  /** Where relative files of the manifest start. */
  base?: string | undefined
}

/** All servers of one daemon. Uses that are the same in every respect, worktree included, share one process. */
export type ServerPool = {
  redactor: Redactor
  sandbox: Sandbox
  surroundings: ServerPoolOptions['surroundings']
  lease(use: ServerUse): ServerLease
  /** Starts a server once, asks what it has, and ends it. Nothing is verified but its bytes, so nothing of it may be called. */
  enumerate(use: ServerUse): Promise<EnumeratedServer>
  /** Finds the sandbox of a worktree in which something listens on a port. */
  openInside(worktree: string, port: number): Promise<InsidePort>
  /** How many servers are running or starting. */
  running(): number
  /** Ends everything, and gives up what is being fetched or started. */
  close(): Promise<void>
}

/** A port in a sandbox, for as long as that lives. */
export type InsidePort = { connect(): Promise<Socket>; ended: Promise<unknown> }

export type EnumeratedServer = { tools: ToolSurface[]; launch: ServerLaunch | undefined }

export type ServerLease = { server: PooledServer; release(): Promise<void> }

/** With the hosts that its programs asked for. */
export type PooledServer = ManagedServer & Omit<AskedHosts, 'note'>

type Hooks = { onListChanged: () => void; signal: AbortSignal; onEgress?: BoxLaunch['onEgress'] }
type Reached = { connection: Connection; launch: ServerLaunch | undefined }

const CONNECT_TIMEOUT_MS = 30_000
const IDLE_MS = 60_000

export function openServerPool(options: ServerPoolOptions): ServerPool {
  const { connectTimeoutMs: timeoutMs = CONNECT_TIMEOUT_MS, idleMs = IDLE_MS, redactor = openRedactor() } = options
  const onEvent = redacting(redactor, options.onEvent)
  const entries = new Map<string, { server: PooledServer; leases: number }>()
  const boxes = new Map<RunningProgram, string | undefined>()
  // Programs that were found to speak the older protocol; asking them again would only cost time.
  const older = new Set<string>()
  const closing = new AbortController()

  return {
    redactor,
    sandbox: options.sandbox,
    surroundings: options.surroundings,
    lease(use) {
      const key = keyOf(use)
      const entry = entries.get(key) ?? { server: open(use), leases: 0 }
      entries.set(key, entry)
      entry.leases += 1
      let isReleased = false
      return {
        server: entry.server,
        async release() {
          if (isReleased) return
          isReleased = true
          entry.leases -= 1
          if (entry.leases > 0) return
          entries.delete(key)
          await entry.server.stop()
        },
      }
    },
    async enumerate(use) {
      const { connection, launch } = await reach(use, { onListChanged: () => {}, signal: closing.signal })
      try {
        const { tools } = await connection.listTools({ timeoutMs })
        return { tools, launch }
      } finally {
        await connection.close().catch(() => {})
      }
    },
    openInside,
    running: () => [...entries.values()].filter(({ server }) => server.isRunning()).length,
    async close() {
      closing.abort()
      const open = [...entries.values()]
      entries.clear()
      await Promise.all(open.map(({ server }) => server.stop()))
    },
  }

  function open(use: ServerUse): PooledServer {
    const { server, locked } = use
    const asked = openAskedHosts()
    const managed = openManagedServer({
      server,
      locked,
      timeoutMs,
      idleMs,
      onEvent: (event) => onEvent({ ...event, identity: serverIdentity(server, locked) }),
      connect: async (hooks) => (await reach(use, { ...hooks, onEgress: asked.note })).connection,
    })
    const { refusedSince, takeReached } = asked
    return { ...managed, refusedSince, takeReached }
  }

  async function reach(use: ServerUse, hooks: Hooks): Promise<Reached> {
    const { server } = use
    if (server.transport === 'stdio') return startProgram(server, use, hooks)
    return { connection: await connectEndpoint(server, hooks), launch: undefined }
  }

  async function startProgram(server: StdioServer, use: ServerUse, hooks: Hooks): Promise<Reached> {
    const { alias } = server
    // Credentials first: a server that lacks one is not even fetched.
    const { assignments, args } = resolveCredentials(server, lookUp(), redactor)
    const launch = await resolveLaunch(server, {
      store: options.store,
      bootstrap: options.bootstrap,
      isFull: options.isFull,
      lockFiles: use.lockFiles ?? options.lockFiles,
      base: use.base,
      worktree: use.worktree,
      args,
      locked: use.locked?.transport === 'stdio' ? use.locked.package : undefined,
      signal: hooks.signal,
      onProgress: (progress) => onEvent({ type: 'package_progress', alias, progress }),
    })
    if (launch.isPlaceholder) onEvent({ type: 'placeholder_used', alias })
    const around = launch.isBuiltin && use.worktree ? await options.surroundings?.(use.worktree) : undefined
    const box = boxLaunch(launch, { ...around?.env, ...assignments }, { ...use, hosts: hostsOf(use) }, around)
    const connection = await connectProgram(alias, { ...box, onEgress: hooks.onEgress }, hooks)
    return { connection, launch }
  }

  /**
   * Asks in place which era the program speaks, so that it starts once; only one that ends when asked, or is too slow to answer, starts again.
   * A lock does not hold the answer: to ask costs one message, and what the server then lists is verified in either era.
   */
  async function connectProgram(alias: string, box: BoxLaunch, hooks: Hooks): Promise<Connection> {
    const key = digestValue([box.program, box.args])
    const deadline = performance.now() + timeoutMs
    const start = (mode: 'auto' | Era) => {
      const transport = programTransport(() => spawn(box))
      return connect({
        alias,
        transport: guardPeer(transport, { onViolation: (what) => onEvent({ type: 'protocol_violated', alias, what }) }),
        mode,
        timeoutMs: Math.max(1, Math.round(deadline - performance.now())),
        ...hooks,
        lastWords: () => redactor.text(transport.lastWords()),
      })
    }
    const connection = await start(older.has(key) ? 'legacy' : 'auto').catch((error: MatrixError) => {
      const era = findOtherEra(error)
      if (!era) throw error
      return start(era)
    })
    if (connection.era === 'legacy') older.add(key)
    return connection
  }

  async function spawn(box: BoxLaunch): Promise<RunningProgram> {
    const running = await options.sandbox.spawn(box)
    boxes.set(running, box.policy.worktree)
    void running.exited.then(() => boxes.delete(running))
    return running
  }

  /** Every server has a sandbox of its own; what listens in one of them is asked for by its port alone. */
  async function openInside(worktree: string, port: number): Promise<InsidePort> {
    for (const [{ connectInside, exited }, place] of boxes) {
      const socket = place === worktree ? await connectInside?.(port).catch(() => undefined) : undefined
      socket?.destroy()
      if (socket && connectInside) return { connect: () => connectInside(port), ended: exited }
    }
    throw new MatrixError('PORT_UNUSED', `Nothing listens on port ${port} in the sandbox of this task.`)
  }

  function hostsOf({ hosts, worktree }: ServerUse): HostList {
    if (hosts && !hosts.includes('*')) return hosts
    return async () => [...(hosts ?? []), ...((await options.hosts?.(worktree)) ?? [])]
  }

  function connectEndpoint(server: HttpServer, hooks: Hooks): Promise<Connection> {
    const { assignments, endpoint = server.endpoint } = resolveCredentials(server, lookUp(), redactor)
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), {
      requestInit: { headers: assignments },
      fetch: boundedFetch,
    })
    return connect({ alias: server.alias, transport, mode: 'auto', timeoutMs, ...hooks })
  }

  function lookUp(): Lookup {
    return options.lookUp ?? ((name) => process.env[name])
  }
}

/** What a server is to those who agreed to it, whoever uses it and wherever. */
export function serverIdentity(server: Server, locked: LockedServer | undefined): string {
  return digestValue({ server, surface: locked?.surface })
}

function keyOf({ server, locked, sideEffects, worktree, hosts, paths, base }: ServerUse): string {
  const effects = [...sideEffects].sort()
  return digestValue({ server, surface: locked?.surface, sideEffects: effects, worktree, hosts, paths, base })
}

function boxLaunch(
  launch: ServerLaunch,
  env: Record<string, string>,
  { sideEffects, worktree, hosts, paths }: Omit<ServerUse, 'hosts'> & { hosts: HostList },
  { readable = [], env: _, ...around }: Partial<Surroundings> = {},
): BoxLaunch {
  const place = (text: string) => placeWorkspace(text, worktree)
  return {
    program: launch.program,
    args: launch.args.map(place),
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, place(value)])),
    policy: {
      sideEffects,
      worktree,
      hosts,
      ...(paths && findRuledPaths(paths)),
      readable: [...launch.readable, ...readable],
      ...around,
      programs: launch.programs,
      isGuarded: launch.isBuiltin,
    },
  }
}

/** Manifests say `/workspace` for the folder that the agent works in, wherever that is today. */
function placeWorkspace(text: string, worktree: string | undefined): string {
  if (!worktree) return text
  return text === '/workspace' || text.startsWith('/workspace/') ? worktree + text.slice('/workspace'.length) : text
}

/** The same object goes to whoever called; its stack begins with the message that it was made with. */
function redactError(error: MatrixError, redactor: Redactor): void {
  error.message = redactor.text(error.message)
  if (error.stack !== undefined) error.stack = redactor.text(error.stack)
}

function redacting(redactor: Redactor, listener: ServerPoolOptions['onEvent']): (event: PoolEvent) => void {
  return (event) => {
    if ('error' in event) redactError(event.error, redactor)
    if (event.type === 'server_checked') listener?.({ ...event, verification: redactor.value(event.verification) })
    else listener?.(event)
  }
}
