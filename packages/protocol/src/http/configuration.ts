import * as z from 'zod'

/** The model, the tools and the system prompt that a session is bound to. */
const Configuration = z.object({ provider: z.string(), model: z.string(), tools: z.array(z.string()) })

/** What a session runs with, what the settings would give it now, and what a change costs. */
export const SessionConfiguration = z.object({
  /** Null until the session has begun. */
  current: Configuration.nullable(),
  offered: Configuration,
  changes: z.object({
    model: z.boolean(),
    prompt: z.boolean(),
    addedTools: z.array(z.string()),
    removedTools: z.array(z.string()),
    /** The same names with another description or other arguments. */
    changedTools: z.array(z.string()),
  }),
  /** The offered one was asked for: the session takes it when its agent next starts. */
  isRequested: z.boolean(),
  /** What the provider no longer finds in its cache after a change, and at most what that costs once. */
  cache: z.object({ tokens: z.number().int(), usd: z.number().nullable() }),
})
export type SessionConfiguration = z.infer<typeof SessionConfiguration>
