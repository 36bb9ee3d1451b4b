import { readFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { MatrixError } from '@matrix/protocol'
import { connected, openProxy, openTunnel } from './sandbox/egress-dial.ts'
import { findUpstream } from './sandbox/upstream-proxy.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Target = { hostname: string; port: string; protocol: string }
type Done = (error: Error | null, socket: Socket | null) => void
type Agent = {
  constructor: new (options: { connect(target: Target, done: Done): void }) => Agent
  dispatch(request: object, handler: object): boolean
}

/** Where Node keeps the client that fetch uses, whatever its version. */
const dispatcher = Symbol.for('undici.globalDispatcher.1')

/** Opens a connection, ready to be written to. */
export type Dial = (target: { host: string; port: number; isSecure: boolean }) => Promise<Socket>

/**
 * How connections are opened through the proxy that the environment names, trusting the certificates of SSL_CERT_FILE. Node does
 * neither before version 24. Undefined where there is no such proxy or file.
 */
export function dialUpstream(env: Environment = process.env): Dial | undefined {
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()])
  if (![...names, 'SSL_CERT_FILE'].some((name) => env[name])) return undefined
  let certificates: SecureContext | undefined
  return async ({ host, port, isSecure }) => {
    const socket = await openPlain({ host, port }, isSecure, env)
    if (!isSecure) return socket
    // Once, and only when needed: to read them costs more than a connection.
    certificates ??= readCertificates(env)
    const secure = connectSecurely({
      ...{ socket, host, ALPNProtocols: ['http/1.1'] },
      ...(isIP(host) === 0 && { servername: host }),
      ...(certificates && { secureContext: certificates }),
    })
    await connected(secure, true)
    return secure
  }
}

/** Lets fetch in this process open its connections by `dialUpstream`. Answers with what undoes it. */
export function useUpstream(env: Environment = process.env): () => void {
  const dial = dialUpstream(env)
  const before = globalAgent()
  if (!dial || !before) return () => undefined
  setGlobalAgent(
    new before.constructor({
      connect({ hostname, port, protocol }, done) {
        const isSecure = protocol === 'https:'
        const host = hostname.replace(/^\[|\]$/g, '')
        dial({ host, port: Number(port) || (isSecure ? 443 : 80), isSecure }).then(
          (socket) => done(null, socket),
          (error) => done(error, null),
        )
      },
    }),
  )
  return () => setGlobalAgent(before)
}

/**
 * What makes fetch wait for as long as its signal lets it. By itself it gives up after five minutes without a byte, which is less
 * than a tool may take.
 */
export const patient = {
  dispatch: (request: object, handler: object) =>
    globalAgent()?.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, handler) ?? false,
}

function globalAgent(): Agent | undefined {
  // The first use of any of its classes loads the client.
  void globalThis.Response
  return (globalThis as unknown as Record<symbol, Agent | undefined>)[dispatcher]
}

function setGlobalAgent(agent: Agent): void {
  const keeper = globalThis as unknown as Record<symbol, Agent>
  keeper[dispatcher] = agent
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
