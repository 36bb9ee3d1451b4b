import * as z from 'zod'
import { TaskId } from '../task.ts'

/** A ULID, like that of a task. */
export const ProjectId = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'a project id is a ULID: 26 characters of Crockford base 32')

export const Problem = z.object({ code: z.string(), message: z.string(), hint: z.string() })
export type Problem = z.infer<typeof Problem>

/** One repository that agents work on. A project with a problem can be looked at, and nothing runs in it. */
export const ProjectView = z.object({
  id: ProjectId,
  name: z.string(),
  path: z.string(),
  rootTaskId: TaskId.nullable(),
  baseBranch: z.string().nullable(),
  problem: Problem.nullable(),
  /** Agents that have been launched, and those of them that do something at the moment. */
  agents: z.object({ live: z.number().int(), working: z.number().int() }),
  costUsd: z.number(),
  /** Played by the embedded mock provider because nothing else is configured. */
  isDemo: z.boolean(),
  registeredAt: z.iso.datetime(),
})
export type ProjectView = z.infer<typeof ProjectView>
