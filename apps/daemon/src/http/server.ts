import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'

export type Tls = { cert: string; key: string }

// Nobody may take forever to say what they want.
const patience = { requestTimeout: 60_000, headersTimeout: 10_000, keepAliveTimeout: 30_000 }

export function createHttpServer(listener: RequestListener, tls?: Tls): Server {
  return tls ? createTlsServer({ ...patience, ...tls }, listener) : createServer(patience, listener)
}
