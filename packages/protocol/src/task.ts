import * as z from 'zod'
import { budgetFields } from './budget.ts'
import { UntrustedSource } from './origin.ts'

/** A ULID: sorts by time of creation, safe as a file name, a branch name and a URL segment. */
export const TaskId = z
  .string()
  .regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/, 'a task id is a ULID: 26 characters of Crockford base 32')

export const TaskStatus = z.enum(['draft', 'pending', 'in_progress', 'passed', 'failed', 'closed'])
export type TaskStatus = z.infer<typeof TaskStatus>

/** Which status may follow which. A running task is never closed; a closed one starts over or stays closed. */
export const nextStatuses: Record<TaskStatus, readonly TaskStatus[]> = {
  draft: ['pending', 'in_progress', 'closed'],
  pending: ['draft', 'in_progress', 'closed'],
  in_progress: ['pending', 'passed', 'failed'],
  passed: ['pending', 'in_progress', 'closed'],
  failed: ['pending', 'in_progress', 'closed'],
  closed: ['pending'],
}

export function canFollow(from: TaskStatus, to: TaskStatus): boolean {
  return nextStatuses[from].includes(to)
}

export const EditedBy = z.enum(['user', 'agent'])
export type EditedBy = z.infer<typeof EditedBy>

/** What happens to a task's conversation when it is closed: nothing, start over, or go on next time. */
export const Persistence = z.union([z.literal(false), z.enum(['reset', 'continue'])])
export type Persistence = z.infer<typeof Persistence>

/** A skill by the name that its folder has. */
export const SkillName = z.string().regex(/^[a-z0-9](?:-?[a-z0-9]){0,63}$/, 'the name of a skill')
export const SkillNames = z.array(SkillName).max(20)

/** One task as it is saved. What exists only while its agent runs (queue, processes) is never part of it. */
export const TaskNode = z.object({
  id: TaskId,
  title: z.string().min(1),
  /** A folder groups tasks: it never runs, has no branch, and does not count as a level of the tree. */
  folder: z.literal(true).optional(),
  description: z.string(),
  status: TaskStatus,
  branch: z.string().nullable(),
  /** Only on the root: the branch that all work starts from and returns to. */
  baseBranch: z.string().optional(),
  parentId: TaskId.nullable(),
  children: z.array(TaskId),
  worktreePath: z.string().nullable(),
  costUsd: z.number().nonnegative(),
  /** What tasks have cost that hung below it and were deleted: it stays spent. */
  removedCostUsd: z.number().nonnegative().optional(),
  /** The same in tokens and in minutes at work. */
  spentTokens: z.number().nonnegative().optional(),
  removedTokens: z.number().nonnegative().optional(),
  spentMinutes: z.number().nonnegative().optional(),
  removedMinutes: z.number().nonnegative().optional(),
  ...z.object(budgetFields).partial().shape,
  editedBy: EditedBy,
  persistent: Persistence,
  color: z.string().optional(),
  /** The manifest that says what its agent may do; that of the task above when left out. */
  agent: z.string().min(1).optional(),
  /** The skills that it is held to, and with it all tasks below: each of them has to allow a call. */
  skills: SkillNames.optional(),
  /** What untrusted content is in its conversation, and so in what it has written. Its session says the same, event by event. */
  untrusted: z.array(UntrustedSource).optional(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})
export type TaskNode = z.infer<typeof TaskNode>
