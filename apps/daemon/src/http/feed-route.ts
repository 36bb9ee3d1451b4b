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
      const { cursor, ...wanted } = query as z.output<typeof FeedQuery>
      const attach = await feed.subscribe({
        filter: { projectId: wanted.projectId, taskId: wanted.taskId },
        cursor: Cursor.safeParse(headers['last-event-id']).data ?? cursor,
        session: await sessionOf(wanted),
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

  async function sessionOf({ projectId, taskId, after, afterTs }: FeedQuery): Promise<Subscription['session']> {
    if (after === undefined) return undefined
    if (projectId === undefined || taskId === undefined)
      throw new MatrixError('REQUEST_INVALID', '`after` needs a project and a task.', { field: 'query.after' })
    const read = (seq: number, limit: number) =>
      orchestrator.readEvents({ params: { projectId, taskId }, query: { after: seq, limit }, body: undefined })
    const known = after > 0 && afterTs !== undefined ? (await read(after - 1, 1)).events[0] : undefined
    const isReset = afterTs !== undefined && known?.event.ts !== afterTs
    return { projectId, taskId, after: isReset ? 0 : after, readLog: (seq) => read(seq, pageSize) }
  }
}
