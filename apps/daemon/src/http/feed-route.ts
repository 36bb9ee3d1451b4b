import { MatrixError } from '@matrix/protocol'
import { Cursor, FeedQuery, feedPath } from '@matrix/protocol/http'
import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import type { Subscription } from '../feed/feed.ts'
import type { AppOptions } from './app.ts'
import { securityHeaders } from './security-headers.ts'

const pageSize = 200

/** The stream of frames: subscribes first, so that what cannot be streamed is still answered as any other failure. */
export function addFeedRoute(app: FastifyInstance, { feed, orchestrator, access, isReady }: AppOptions): void {
  app.get(
    feedPath,
    { config: { access: 'signed-in' }, schema: { querystring: FeedQuery } },
    async ({ query, headers, identity }, reply) => {
      if (!isReady()) throw new MatrixError('NOT_READY', 'The daemon is resuming its agents.')
      const { projectId, taskId, after, cursor } = query as z.output<typeof FeedQuery>
      const attach = await feed.subscribe({
        filter: { projectId, taskId },
        cursor: Cursor.safeParse(headers['last-event-id']).data ?? cursor,
        session: sessionOf({ projectId, taskId, after }),
        isAllowed: () => access.holds(identity),
      })

      reply.hijack()
      // It ends with its connection, so its pieces need no frame of their own; a piece is then one write instead of four.
      reply.raw.removeHeader('transfer-encoding')
      reply.raw.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream' })
      reply.raw.flushHeaders()
      attach(reply.raw)
    },
  )

  function sessionOf({ projectId, taskId, after }: FeedQuery): Subscription['session'] {
    if (after === undefined) return undefined
    if (projectId === undefined || taskId === undefined)
      throw new MatrixError('REQUEST_INVALID', '`after` needs a project and a task.', { field: 'query.after' })
    return {
      projectId,
      taskId,
      after,
      readLog: (seq) =>
        orchestrator.readEvents({
          params: { projectId, taskId },
          query: { after: seq, limit: pageSize },
          body: undefined,
        }),
    }
  }
}
