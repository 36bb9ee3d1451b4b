import * as z from 'zod'
import { DurableEvent, LiveEvent } from '../event.ts'
import { TaskId } from '../task.ts'
import { ProjectView } from './project.ts'
import { Attention, TaskView } from './task-view.ts'

/** An event of a session that a newer daemon wrote and this one does not know: kept, shown raw, part of no conversation. */
const UnknownEvent = z.object({ type: z.string() }).loose()

/** An event as it stands in a session. */
export const SessionEvent = z.object({ seq: z.number().int().positive(), event: z.union([DurableEvent, UnknownEvent]) })
export type SessionEvent = z.infer<typeof SessionEvent>

export const EventPage = z.object({
  events: z.array(SessionEvent),
  /** Whether there are older ones before the first (or newer ones after the last, when paging forwards). */
  more: z.boolean(),
  lastSeq: z.number().int(),
})
export type EventPage = z.infer<typeof EventPage>

/**
 * What the event stream carries. `event` frames of a session come in the order of their seq, without a hole; all others say how
 * something is now, so that the last one of its kind counts.
 */
export const Frame = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('event'),
    projectId: TaskId,
    taskId: TaskId,
    seq: z.number().int().positive(),
    event: z.union([DurableEvent, UnknownEvent]),
  }),
  /** A signal of the moment. Text that arrived in pieces may be put together. */
  z.object({ kind: z.literal('live'), projectId: TaskId, taskId: TaskId, event: LiveEvent }),
  z.object({ kind: z.literal('task'), projectId: TaskId, task: TaskView }),
  z.object({ kind: z.literal('task_removed'), projectId: TaskId, taskId: TaskId }),
  z.object({ kind: z.literal('project'), project: ProjectView }),
  z.object({ kind: z.literal('project_removed'), projectId: TaskId }),
  z.object({ kind: z.literal('attention'), attention: Attention }),
  z.object({ kind: z.literal('attention_over'), projectId: TaskId, id: z.string() }),
  z.object({ kind: z.literal('config'), projectId: TaskId.nullable() }),
  /** Something was left out. Whoever keeps state reads it again: the lists, and each session from the last seq it has. */
  z.object({ kind: z.literal('resync'), reason: z.enum(['start', 'restarted', 'too_slow', 'too_old']) }),
])
export type Frame = z.infer<typeof Frame>

/** Where a reader of the stream is: `<epoch>.<seq>`. The epoch changes with every start of the daemon. */
export const Cursor = z.string().regex(/^[0-9A-Za-z]{1,32}\.\d{1,15}$/)
