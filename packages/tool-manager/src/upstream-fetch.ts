import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectSecurely, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { MatrixError } from '@matrix/protocol'
import { connected, openProxy, openTunnel } from './sandbox/egress-dial.ts'
import { findUpstream } from './sandbox/upstream-proxy.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Target = { hostname: string; port: string; protocol: string; servername?: string | null }
type Done = (error: Error | null, socket: Socket | null) => void
type Agent = { constructor: new (options: { connect(target: Target, done: Done): void }) => Agent }

/** Where Node keeps the client that fetch uses, whatever its version. */
const dispatcher = Symbol.for('undici.globalDispatcher.1')

/**
 * Lets fetch in this process go through the proxy that the environment names, and trust the certificates of SSL_CERT_FILE. Node
 * does neither before version 24. Without such a proxy or file nothing changes. Answers with what undoes it.
 */
export function useUpstream(env: Environment = process.env): () => void {
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()])
  if (![...names, 'SSL_CERT_FILE'].some((name) => env[name])) return () => undefined
  // The first use of any of its classes loads the client.
  void globalThis.Response
  const keeper = globalThis as unknown as Record<symbol, Agent | undefined>
  const before = keeper[dispatcher]
  let certificates: SecureContext | undefined
  // Once, and only when needed: to read them costs more than a connection.
  const secureContext = () => {
    certificates ??= readCertificates(env)
    return certificates
  }
  if (!before) return () => undefined
  keeper[dispatcher] = new before.constructor({
    connect: (target, done) =>
      void open(target, env, secureContext).then(
        (socket) => done(null, socket),
        (error) => done(error, null),
      ),
  })
  return () => {
    keeper[dispatcher] = before
  }
}

async function open(target: Target, env: Environment, secureContext: () => SecureContext | undefined): Promise<Socket> {
  const isSecure = target.protocol === 'https:'
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const port = Number(target.port) || (isSecure ? 443 : 80)
  const socket = await openPlain({ host, port }, isSecure, env)
  if (!isSecure) return socket
  const context = secureContext()
  const secure = connectSecurely({
    ...{ socket, host, servername: target.servername || host, ALPNProtocols: ['http/1.1'] },
    ...(context && { secureContext: context }),
  })
  await connected(secure, true)
  return secure
}

async function openPlain(target: { host: string; port: number }, isSecure: boolean, env: Environment): Promise<Socket> {
  const proxy = findUpstream(target, isSecure, env)
  const socket = proxy ? openProxy(proxy) : connect({ ...target, autoSelectFamily: true })
  try {
    await connected(socket, proxy?.isSecure ?? false)
    if (proxy) await openTunnel(socket, target, proxy)
    return socket
  } catch (cause) {
    socket.destroy()
    if (!proxy) throw cause
    const { message, code } = cause as NodeJS.ErrnoException
    throw new MatrixError(
      'PROXY_UNAVAILABLE',
      `The proxy ${proxy.name} did not open a connection: ${code ?? message}.`,
      { cause },
    )
  }
}

function readCertificates({ SSL_CERT_FILE, NODE_EXTRA_CA_CERTS }: Environment): SecureContext | undefined {
  if (!SSL_CERT_FILE) return undefined
  const files = [SSL_CERT_FILE, ...(NODE_EXTRA_CA_CERTS ? [NODE_EXTRA_CA_CERTS] : [])]
  try {
    return createSecureContext({ ca: [...rootCertificates, ...files.map((file) => readFileSync(file, 'utf8'))] })
  } catch {
    return undefined
  }
}
