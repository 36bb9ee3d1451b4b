import * as z from 'zod'
import { DurableEvent, TokenUsage } from '../../event.ts'
import { TaskId } from '../../task.ts'
import { EventPage } from '../feed.ts'
import { ProjectId } from '../project.ts'
import { route } from '../route.ts'
import { limit, ofTask, seq } from './fields.ts'

const Cost = z.object({
  task: z.string().optional(),
  day: z.string().optional(),
  model: z.string().optional(),
  session: z.string().optional(),
  usd: z.number(),
  turns: z.number(),
  /** Turns of models without a known price: `usd` does not hold them. */
  unpricedTurns: z.number(),
  workMs: z.number(),
  ...TokenUsage.shape,
})

const SearchHit = z.object({
  projectId: ProjectId,
  taskId: z.string(),
  seq: z.number().int(),
  type: z.string(),
  ts: z.string(),
  snippet: z.object({ text: z.string(), marks: z.array(z.tuple([z.number(), z.number()])) }),
})

const eventTypes: readonly string[] = DurableEvent.options.map((option) => option.shape.type.value).sort()

/** Looking for a type that does not exist would find nothing, and nobody would know why. */
function areEventTypes({ value, issues }: z.core.ParsePayload<string>): void {
  const unknown = value.split(',').filter((type) => !eventTypes.includes(type))
  if (unknown.length === 0) return
  const message = `there are no events of type ${unknown.join(' or ')}; there are ${eventTypes.join(', ')}`
  issues.push({ code: 'custom', message, input: value })
}

export const eventRoutes = {
  readEvents: route('GET /api/projects/:projectId/tasks/:taskId/events', 'events', 'A page of a conversation', {
    params: ofTask,
    query: z.object({ before: seq.optional(), after: seq.optional(), limit: limit.default(200) }),
    response: EventPage,
  }),
  search: route('GET /api/search', 'events', 'Looks words up in everything ever said and done', {
    query: z.object({
      q: z.string().min(1).max(1000),
      projectId: ProjectId.optional(),
      taskId: TaskId.optional(),
      /** Types of events, separated by commas. */
      types: z.string().check(areEventTypes).optional(),
      since: z.iso.datetime().optional(),
      until: z.iso.datetime().optional(),
      limit: limit.default(20),
    }),
    response: z.object({ hits: z.array(SearchHit), complete: z.boolean() }),
  }),
  readCosts: route('GET /api/costs', 'events', 'What was spent, summed as asked', {
    query: z.object({
      projectId: ProjectId.optional(),
      taskId: TaskId.optional(),
      /** Any of task, day, model and session, separated by commas. */
      by: z
        .string()
        .regex(/^(task|day|model|session)(,(task|day|model|session))*$/)
        .default('day'),
      since: z.string().optional(),
      until: z.string().optional(),
    }),
    response: z.array(Cost),
  }),
} as const
