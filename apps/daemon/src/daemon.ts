import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Orchestrator } from '@matrix/orchestrator'
import { MatrixError } from '@matrix/protocol'
import type { DaemonFile } from '@matrix/protocol/http'
import { type Logger, pino } from 'pino'
import { type Access, type AccessOptions, openAccess } from './access/access.ts'
import type { Address } from './access/request-guard.ts'
import { createSecret } from './access/secret.ts'
import { type FeedOptions, openFeed } from './feed/feed.ts'
import { buildApp } from './http/app.ts'
import { cookieName } from './http/cookie.ts'
import { createDaemonOperations } from './http/operations.ts'
import type { Tls } from './http/server.ts'
import { addStaticUi } from './http/static-ui.ts'
import { openLocalSocket } from './local-socket.ts'
import type { Metrics } from './metrics.ts'
import { ensureOwnFolder, writeSecretFile } from './owner-only.ts'

export type DaemonOptions = {
  orchestrator: Orchestrator
  dataDirectory: string
  version: string
  log?: Logger
  /** A loopback address unless `tls` is given. */
  host?: string
  /** 0 takes any that is free. */
  port?: number
  tls?: Tls
  /** Further names under which the daemon is reached, with a port where it is another one. */
  names?: readonly string[]
  sessionLimits?: AccessOptions['sessionLimits']
  /** The flags that start it again as it is, to be found in its file. */
  args?: readonly string[]
  /** The built web UI. */
  uiFolder?: string
  /** What is answered at `/metrics`, to whoever has the daemon's token; nothing is there without it. */
  metrics?: Metrics
  now?(): number
  elapsed?: AccessOptions['elapsed']
  feedLimits?: FeedOptions['limits']
}

export type Daemon = {
  /** Takes requests from now on; until `markReady`, only those that need no agents. */
  listen(): Promise<DaemonFile>
  markReady(): void
  openEnrolment: Access['openEnrolment']
  close(): Promise<void>
}

const loopback = ['127.0.0.1', '::1', 'localhost']
/** Requests that are under way may finish; then they are cut off. */
const closingMs = 2000

/** The daemon around an orchestrator: who may ask, what they are answered, and everything that happens as a stream. */
export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { orchestrator, dataDirectory, version, host = '127.0.0.1', tls, now = Date.now } = options
  const { log = pino({ level: 'silent' }) } = options
  checkBinding(host, tls)
  const startedAt = new Date(now()).toISOString()
  const runFolder = join(dataDirectory, 'run')
  const tokenFile = join(runFolder, 'token')
  // Others may look into the data directory at most; what opens the daemon lies where they cannot even do that.
  await ensureOwnFolder(dataDirectory, { mode: 0o022 })
  await ensureOwnFolder(runFolder)
  const token = createSecret()
  await writeSecretFile(tokenFile, `${token}\n`)

  const feed = openFeed({
    epoch: randomBytes(8).toString('hex'),
    onFailure: (error) => log.warn({ err: error }, 'A stream ended because its session cannot be read.'),
    ...(options.feedLimits ? { limits: options.feedLimits } : {}),
  })
  const access = await openAccess({
    devicesFile: join(dataDirectory, 'devices.json'),
    token,
    now,
    ...(options.elapsed ? { elapsed: options.elapsed } : {}),
    report: (message, facts = {}) => log.info(facts, message),
    onLoss: feed.recheck,
    ...(options.sessionLimits ? { sessionLimits: options.sessionLimits } : {}),
  })

  let address: (Address & { cookieName: string }) | undefined
  let isReady = false
  const app = buildApp({
    orchestrator,
    daemonOperations: createDaemonOperations(orchestrator, access, { version, startedAt, dataDirectory }),
    access,
    feed,
    log,
    version,
    tls,
    metrics: options.metrics,
    isReady: () => isReady,
    address: () => address ?? { scheme: 'http', hosts: new Set(), cookieName: '' },
    isLocal: (request) => local.isFrom(request),
  })
  await addStaticUi(app, options.uiFolder)
  await app.ready()
  const local = openLocalSocket(join(runFolder, 'daemon.sock'), (request, response) => app.routing(request, response))
  const unsubscribe = orchestrator.subscribe(feed.publish)

  return {
    async listen() {
      const port = await listenOn(app, host, options.port ?? 7433)
      const scheme = tls ? 'https' : 'http'
      const { names = [] } = options
      const here = ['127.0.0.1', 'localhost']
      // The first is the address that is told, so it is one that answers.
      const own = loopback.includes(host) ? [host, ...here, ...names] : [...names, host, ...here]
      const hosts = own.map((name) => hostOf(name, port, scheme))
      address = { scheme, hosts: new Set(hosts), cookieName: cookieName({ scheme }, port) }
      const socket = await local.listen()
      const url = `${scheme}://${hosts[0]}`
      return { pid: process.pid, startedAt, version, url, port, socket, tokenFile, args: [...(options.args ?? [])] }
    },
    markReady() {
      isReady = true
    },
    openEnrolment: access.openEnrolment,
    async close() {
      unsubscribe()
      feed.close()
      const cutOff = setTimeout(() => app.server.closeAllConnections(), closingMs)
      await Promise.all([app.close(), local.close()]).finally(() => clearTimeout(cutOff))
      await access.close()
    },
  }
}

/** Keys of browsers and sessions must not cross a network in the clear. */
function checkBinding(host: string, tls: Tls | undefined): void {
  if (loopback.includes(host) || tls) return
  throw new MatrixError('CONFIG_INVALID', `${host} can be reached from other machines, which needs TLS.`, {
    hint: 'Give --tls-cert and --tls-key, or leave --host out and use an SSH tunnel.',
  })
}

async function listenOn(app: Awaited<ReturnType<typeof buildApp>>, host: string, port: number): Promise<number> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new MatrixError('PORT_IN_USE', `Port ${port} of ${host} is used by another program.`, {
        hint: 'Choose another with --port, or for good with matrix config set port; or end what uses it.',
        cause: error,
      })
    throw new MatrixError('CONFIG_INVALID', `Cannot listen on port ${port} of ${host} (${code}).`, {
      hint: 'Choose a port above 1023 and an address of this machine.',
      cause: error,
    })
  }
  const address = app.server.address()
  return typeof address === 'object' && address ? address.port : port
}

/** As a browser writes it: a port that is the usual one is left out. */
function hostOf(name: string, port: number, scheme: 'http' | 'https'): string {
  if (/^(\[.*\]|[^:]+):\d+$/.test(name)) return name
  const isUsual = port === (scheme === 'https' ? 443 : 80)
  return `${name.includes(':') ? `[${name}]` : name}${isUsual ? '' : `:${port}`}`
}
