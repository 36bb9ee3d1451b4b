import * as z from 'zod'

/** A picture in a message or a tool's result, as base64. */
export const Image = z.object({
  mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  data: z.base64(),
})
export type Image = z.infer<typeof Image>

// Whoever sends a message chooses its id from what caused it, so that sending it again after a crash changes nothing.
const id = z.string().min(1)

/** The side effects that the sender's manifest allows. Absent where none says so, and in sessions of earlier versions. */
const rights = z.array(z.string()).optional()

/** Fewer than `rights`: those of another project in whose name the sender may be speaking. */
const actsFor = z.array(z.string()).optional()

/** Words on their way to an agent: where they come from decides how the agent reads them. */
export const QueueMessage = z.discriminatedUnion('source', [
  z.object({ source: z.literal('user'), id, text: z.string(), images: z.array(Image).optional() }),
  z.object({
    source: z.literal('tree_change'),
    id,
    changedTaskId: z.string(),
    summary: z.string(),
    /** Read with the next message; no reason for a turn of its own. */
    quiet: z.literal(true).optional(),
  }),
  z.object({
    source: z.literal('task_complete'),
    id,
    taskId: z.string(),
    title: z.string(),
    success: z.boolean(),
    output: z.string(),
    costUsd: z.number().nonnegative(),
  }),
  z.object({
    source: z.literal('task_message'),
    id,
    fromTaskId: z.string(),
    fromTitle: z.string(),
    rights,
    actsFor,
    content: z.string(),
    requestReply: z.boolean().optional(),
  }),
  z.object({ source: z.literal('clarify_response'), id, clarificationId: z.string(), answer: z.string() }),
  z.object({
    source: z.literal('user_message_forwarded'),
    id,
    toTaskId: z.string(),
    toTitle: z.string(),
    text: z.string(),
  }),
  z.object({
    source: z.literal('cross_project'),
    id,
    fromProjectId: z.string(),
    fromProject: z.string(),
    fromTaskId: z.string().optional(),
    fromTitle: z.string().optional(),
    rights,
    actsFor,
    content: z.string(),
  }),
  z.object({
    source: z.literal('background_complete'),
    id,
    processId: z.string(),
    command: z.string(),
    exitCode: z.number().int().nullable(),
    output: z.string(),
  }),
  z.object({ source: z.literal('compact'), id }),
])
export type QueueMessage = z.infer<typeof QueueMessage>
export type MessageSource = QueueMessage['source']

/** Whether a message is a reason to wake its agent, which costs a turn. */
export function isWaking(message: QueueMessage): boolean {
  return !('quiet' in message && message.quiet)
}

type Fields<S extends MessageSource> = Omit<Extract<QueueMessage, { source: S }>, 'source'>

/** The only place that spells the sources out: `queueMessage.user({ id, text })`. */
export const queueMessage = {
  user: (fields: Fields<'user'>) => ({ source: 'user', ...fields }),
  treeChange: (fields: Fields<'tree_change'>) => ({ source: 'tree_change', ...fields }),
  taskComplete: (fields: Fields<'task_complete'>) => ({ source: 'task_complete', ...fields }),
  taskMessage: (fields: Fields<'task_message'>) => ({ source: 'task_message', ...fields }),
  clarifyResponse: (fields: Fields<'clarify_response'>) => ({ source: 'clarify_response', ...fields }),
  userMessageForwarded: (fields: Fields<'user_message_forwarded'>) => ({ source: 'user_message_forwarded', ...fields }),
  crossProject: (fields: Fields<'cross_project'>) => ({ source: 'cross_project', ...fields }),
  backgroundComplete: (fields: Fields<'background_complete'>) => ({ source: 'background_complete', ...fields }),
  compact: (fields: Fields<'compact'>) => ({ source: 'compact', ...fields }),
} as const satisfies Record<string, (fields: never) => QueueMessage>
