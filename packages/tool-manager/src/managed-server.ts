import type { LockedServer, Server, ToolSurface } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { Connection } from './connection.ts'
import { checkServer, driftError, type Verification } from './verification.ts'

/** What happens to a server, for logs and screens. Only `found` holds the server's own words: whoever shows them redacts them. */
export type ServerEvent =
  | { type: 'server_started'; alias: string; era: Connection['era']; tools: number; tookMs: number }
  | { type: 'server_checked'; alias: string; verification: Verification; found: ToolSurface[] }
  | { type: 'server_stopped'; alias: string }
  | { type: 'server_unavailable'; alias: string; error: MatrixError }
  | { type: 'server_quarantined'; alias: string; error: MatrixError }

export type ManagedServerOptions = {
  server: Server
  locked?: LockedServer | undefined
  /** Starts or reaches the server; called for the first use, and again after each end. The signal says that nobody waits for it any more. */
  connect(hooks: { onListChanged(): void; signal: AbortSignal }): Promise<Connection>
  timeoutMs: number
  idleMs: number
  onEvent?: ((event: ServerEvent) => void) | undefined
}

/** One server of a manifest: started on first use, verified before anything is called, ended when nobody needs it. */
export type ManagedServer = {
  /** Runs some work on a connection whose list was verified since it was opened and since the server said it changed. */
  use<Value>(work: (live: LiveServer) => Promise<Value>): Promise<Value>
  isRunning(): boolean
  /** Ends the server now if no call is in flight, else when the last one is over. */
  park(): Promise<void>
  /** Ends the server, or gives it up if it is still being fetched or started. */
  stop(): Promise<void>
}

export type LiveServer = { connection: Connection; tools: ReadonlyMap<string, ToolSurface> }

/** A list that claims to be stale at once would be asked for at every call. */
const MIN_TTL_MS = 5_000
/** A server that cannot be reached is not tried again by each of a hundred calls. */
const COOL_DOWN_MS = 3_000

export function openManagedServer(options: ManagedServerOptions): ManagedServer {
  const { server, locked, timeoutMs, idleMs, onEvent = () => {} } = options
  const { alias } = server
  let live: (LiveServer & { freshUntil: number }) | undefined
  let opening: Promise<LiveServer> | undefined
  let givingUp = new AbortController()
  let checking: Promise<LiveServer> | undefined
  let quarantine: MatrixError | undefined
  let failure: { error: MatrixError; until: number } | undefined
  let changes = 0
  let users = 0
  let isParking = false
  let idle: NodeJS.Timeout | undefined

  return {
    async use(work) {
      users += 1
      clearTimeout(idle)
      isParking = false
      try {
        const ready = live && !quarantine && performance.now() < live.freshUntil ? live : await prepare()
        return await work(ready)
      } catch (error) {
        // What a server answers while its list changes under the call is not what was agreed to.
        throw quarantine ?? error
      } finally {
        users -= 1
        if (users === 0) rest()
      }
    },
    isRunning: () => live !== undefined || opening !== undefined,
    async park() {
      isParking = true
      if (users === 0) await end()
    },
    stop: end,
  }

  function prepare(): Promise<LiveServer> {
    if (quarantine) return Promise.reject(quarantine)
    if (live) return recheck(live)
    if (failure && performance.now() < failure.until) return Promise.reject(failure.error)
    opening ??= open().finally(() => {
      opening = undefined
    })
    return opening
  }

  async function open(): Promise<LiveServer> {
    const start = performance.now()
    givingUp = new AbortController()
    const { signal } = givingUp
    let opened: Connection | undefined
    try {
      const connection = await options.connect({ onListChanged: () => doubt(opened), signal })
      opened = connection
      void connection.closed.then(() => forget(connection))
      live = await verify(connection)
      const { era } = connection
      onEvent({ type: 'server_started', alias, era, tools: live.tools.size, tookMs: performance.now() - start })
      failure = undefined
      return live
    } catch (error) {
      void opened?.close().catch(() => {})
      throw signal.aborted ? givenUp(alias, error) : refuse(error)
    }
  }

  /** One at a time: what asks while a check runs takes its answer. */
  function recheck({ connection }: LiveServer): Promise<LiveServer> {
    checking ??= verify(connection)
      .then((verified) => {
        live = verified
        return verified
      })
      .catch((error) => {
        void connection.close().catch(() => {})
        throw refuse(error)
      })
      .finally(() => {
        checking = undefined
      })
    return checking
  }

  /** From here on no call goes out before the list was looked at again. */
  function doubt(connection: Connection | undefined): void {
    changes += 1
    if (!live || live.connection !== connection) return
    live.freshUntil = 0
    void recheck(live).catch(() => {})
  }

  async function verify(connection: Connection): Promise<LiveServer & { freshUntil: number }> {
    const seen = changes
    const { tools, ttlMs } = await connection.listTools({ timeoutMs }).catch(unreadableIsDrift)
    const verification = checkServer(server, tools, locked)
    onEvent({ type: 'server_checked', alias, verification, found: tools })
    if (verification.drift.length > 0) throw driftError(alias, verification)
    const isLasting = seen === changes
    return {
      connection,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      freshUntil: isLasting ? endOf(ttlMs) : 0,
    }
  }

  function refuse(error: unknown): MatrixError {
    const reason =
      error instanceof MatrixError
        ? error
        : new MatrixError('SERVER_UNAVAILABLE', `"${alias}" could not be started: ${String(error)}`, { cause: error })
    if (reason.code === 'TOOL_DRIFT') {
      quarantine = reason
      onEvent({ type: 'server_quarantined', alias, error: reason })
      return reason
    }
    failure = { error: unavailable(alias, reason), until: performance.now() + COOL_DOWN_MS }
    onEvent({ type: 'server_unavailable', alias, error: failure.error })
    return failure.error
  }

  function forget(connection: Connection): void {
    if (live?.connection !== connection) return
    live = undefined
    onEvent({ type: 'server_stopped', alias })
  }

  function rest(): void {
    if (!live) return
    if (isParking) void end()
    else idle = setTimeout(() => void end(), idleMs).unref()
  }

  async function end(): Promise<void> {
    clearTimeout(idle)
    givingUp.abort()
    await opening?.catch(() => {})
    const ending = live
    if (!ending) return
    forget(ending.connection)
    await ending.connection.close().catch(() => {})
  }
}

function endOf(ttlMs: number | undefined): number {
  return ttlMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + Math.max(ttlMs, MIN_TTL_MS)
}

/** These say more than that the server is not there, and each has its own way out. */
const kept = new Set([
  'SERVER_UNAVAILABLE',
  'CREDENTIAL_MISSING',
  'CREDENTIAL_UNUSABLE',
  'PACKAGE_MISMATCH',
  'PACKAGE_UNVERIFIABLE',
  'DEPENDENCY_REFUSED',
])

function unavailable(alias: string, error: MatrixError): MatrixError {
  if (kept.has(error.code)) return error
  const message = `"${alias}" could not be started. ${error.message}`
  return new MatrixError('SERVER_UNAVAILABLE', message, { hint: error.hint, cause: error })
}

function givenUp(alias: string, cause: unknown): MatrixError {
  return new MatrixError('TOOL_CANCELLED', `"${alias}" was given up while it started.`, { cause })
}

/** A list that cannot be read can never be the one that was agreed to. */
function unreadableIsDrift(error: MatrixError): never {
  if (error.code !== 'TOOL_FAILED') throw error
  throw new MatrixError('TOOL_DRIFT', `The list of tools cannot be read. ${error.message}`, { cause: error })
}
