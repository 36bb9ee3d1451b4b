import type { IncomingMessage } from 'node:http'
import type { Orchestrator } from '@matrix/orchestrator'
import { MatrixError } from '@matrix/protocol'
import { type Access as AccessNeed, type Operation, type Route, routes } from '@matrix/protocol/http'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  fastify,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type * as z from 'zod'
import type { Access, Identity } from '../access/access.ts'
import { type Address, checkRequest } from '../access/request-guard.ts'
import { sourceOf } from '../access/source.ts'
import type { Feed } from '../feed/feed.ts'
import type { Metrics } from '../metrics.ts'
import { addApiDescription } from './api-description.ts'
import { formatCookie, readCookie } from './cookie.ts'
import { toMatrixError, toRequestError } from './failure.ts'
import { addFeedRoute } from './feed-route.ts'
import { checkDepth } from './json-body.ts'
import type { Caller, DaemonOperations } from './operations.ts'
import { securityHeaders } from './security-headers.ts'
import { createHttpServer, type Tls } from './server.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: AccessNeed
  }
  interface FastifyRequest {
    identity: Identity
    ownOrigin: string
  }
}

export type AppOptions = {
  orchestrator: Orchestrator
  daemonOperations: DaemonOperations
  access: Access
  feed: Feed
  log: Logger
  version: string
  tls: Tls | undefined
  metrics: Metrics | undefined
  isReady(): boolean
  /** Known once the daemon listens. */
  address(): Address & { cookieName: string }
  /** Whether a request came through the socket that only the daemon's own user can reach. */
  isLocal(request: IncomingMessage): boolean
}

const bodyLimit = 2 * 1024 * 1024
/** Pictures come as text in the body. */
const messageLimit = 64 * 1024 * 1024

/** The whole of the daemon's HTTP, not listening yet. Routes hold no logic: each parses, calls one function and answers. */
export function buildApp(options: AppOptions): FastifyInstance {
  const { log, tls } = options
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 1000 },
    // A request whose id was chosen by the caller could pretend to be another one in the log.
    requestIdHeader: false,
    // An address that no route can read is answered before any hook runs, and without being repeated.
    frameworkErrors: (_, __, reply: FastifyReply) => {
      const failure = new MatrixError('REQUEST_INVALID', 'The address cannot be read.')
      reply.code(failure.status).headers(securityHeaders).send(failure.toJSON())
    },
    serverFactory: (listener) => createHttpServer(listener, tls),
    // Given here and not later, so that those it would use otherwise are not even loaded.
    schemaController: {
      compilersFactory: { buildValidator: () => validate as never, buildSerializer: () => () => JSON.stringify },
    },
  })

  app.setErrorHandler((error, request, reply) => answerFailure(log, error, request, reply))
  app.setNotFoundHandler((request) => {
    throw new MatrixError('ROUTE_UNKNOWN', `There is no ${request.method} ${request.url.slice(0, 200)}.`)
  })

  addJsonParser(app)
  addGuard(app, options)
  for (const [operation, route] of Object.entries(routes)) addRoute(app, operation as Operation, route, options)
  addFeedRoute(app, options)
  addApiDescription(app, options)
  addMetrics(app, options)
  return app
}

const partNames: Record<string, string> = { querystring: 'query' }

const validate: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = 'request' }) => {
  const part = partNames[httpPart] ?? httpPart
  return (value) => {
    const parsed = schema.safeParse(value)
    return parsed.success ? { value: parsed.data } : { error: toRequestError(part, parsed.error) }
  }
}

function addJsonParser(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    checkDepth(String(text))
    parse(request, String(text), done)
  })
}

/** Runs before anything else of a request is looked at. */
function addGuard(app: FastifyInstance, { access, address, isLocal }: AppOptions): void {
  app.decorateRequest('ownOrigin', '')
  app.decorateRequest('identity')
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders)
    request.identity = { kind: 'local' }
    if (!isLocal(request.raw)) {
      request.ownOrigin = checkRequest(request.raw, address()).origin
      request.identity = access.identify(request.raw, readCookie(request.headers.cookie, address().cookieName))
    }
    access.admit(request.routeOptions.config.access ?? 'open', request.identity)
  })
}

function addRoute(app: FastifyInstance, operation: Operation, route: Route, options: AppOptions): void {
  const { method, path, params, query, body } = route
  const call = findCall(operation, options)
  app.route({
    method,
    url: path,
    config: { access: route.access },
    ...(operation === 'sendMessage' ? { bodyLimit: messageLimit } : {}),
    schema: { params, querystring: query, ...(body.safeParse(undefined).success ? {} : { body }) },
    handler: async (request, reply) => {
      const answer = await call(request, callerOf(request, reply, options))
      return answer === null || answer === undefined ? reply.code(204).send() : reply.send(answer)
    },
  })
}

type Call = (request: FastifyRequest, caller: Caller) => unknown

function findCall(operation: Operation, { orchestrator, daemonOperations, isReady }: AppOptions): Call {
  const own = (daemonOperations as Partial<Record<Operation, (request: unknown, caller: Caller) => unknown>>)[operation]
  const served = (orchestrator as unknown as Record<string, (request: unknown) => unknown>)[operation]
  const needsReady = !own || operation === 'ready'
  return ({ params, query, body }, caller) => {
    if (needsReady && !isReady()) throw new MatrixError('NOT_READY', 'The daemon is resuming its agents.')
    return own ? own({ params, query, body }, caller) : served?.({ params, query, body })
  }
}

function addMetrics(app: FastifyInstance, { metrics, feed }: AppOptions): void {
  app.get('/metrics', { config: { access: 'local' } }, (_, reply) => {
    if (metrics) return reply.type(metrics.contentType).send(metrics.read({ streams: feed.readers() }))
    throw new MatrixError('ROUTE_UNKNOWN', 'Nothing is counted here.', {
      hint: 'Run matrix config set telemetry.metrics true and matrix daemon restart.',
    })
  })
}

function callerOf(request: FastifyRequest, reply: FastifyReply, { address }: AppOptions): Caller {
  return {
    identity: request.identity,
    origin: request.ownOrigin,
    source: sourceOf(request.raw.socket.remoteAddress),
    cookie: readCookie(request.headers.cookie, address().cookieName),
    setCookie: (value) => void reply.header('set-cookie', formatCookie(address().cookieName, value)),
  }
}

function answerFailure(log: Logger, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const failure = toMatrixError(error)
  if (failure.status >= 500 && failure.code !== 'NOT_READY')
    log.error({ err: error, method: request.method, url: request.routeOptions.url }, failure.message)
  return reply.code(failure.status).send(failure.toJSON())
}
