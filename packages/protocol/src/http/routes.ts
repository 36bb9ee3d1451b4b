import * as z from 'zod'
import { TaskId } from '../task.ts'
import { Cursor } from './feed.ts'
import { Problem, ProjectId } from './project.ts'
import { agentRoutes } from './routes/agent-routes.ts'
import { attentionRoutes } from './routes/attention-routes.ts'
import { authRoutes } from './routes/auth-routes.ts'
import { catalogRoutes } from './routes/catalog-routes.ts'
import { configRoutes } from './routes/config-routes.ts'
import { eventRoutes } from './routes/event-routes.ts'
import { seq } from './routes/fields.ts'
import { networkRoutes } from './routes/network-routes.ts'
import { projectRoutes } from './routes/project-routes.ts'
import { reviewRoutes } from './routes/review-routes.ts'
import { skillRoutes } from './routes/skill-routes.ts'
import { systemRoutes } from './routes/system-routes.ts'
import { taskRoutes } from './routes/task-routes.ts'

/** Every operation of the daemon. The keys are the names of the client's methods. */
export const routes = {
  ...systemRoutes,
  ...skillRoutes,
  ...projectRoutes,
  ...taskRoutes,
  ...agentRoutes,
  ...catalogRoutes,
  ...attentionRoutes,
  ...reviewRoutes,
  ...eventRoutes,
  ...configRoutes,
  ...networkRoutes,
  ...authRoutes,
}

export type Routes = typeof routes
export type Operation = keyof Routes

/** The stream of frames is no request with one answer, so it stands beside the routes. */
export const feedPath = '/api/events'
export const FeedQuery = z.object({
  projectId: ProjectId.optional(),
  taskId: TaskId.optional(),
  /** With `taskId`: the last seq of the session that is known; everything after it is sent first. */
  after: seq.optional(),
  /** When that event happened. A session where another event stands there was reset, and is sent from its beginning. */
  afterTs: z.iso.datetime().optional(),
  /** Where an earlier stream ended, if its `Last-Event-ID` cannot be sent as a header. */
  cursor: Cursor.optional(),
})
export type FeedQuery = z.infer<typeof FeedQuery>

/** What a request that failed is answered with. `field` is where the request itself was wrong. */
export const Failure = Problem.extend({ field: z.string().optional() })
export type Failure = z.infer<typeof Failure>
