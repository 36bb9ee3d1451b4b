import * as z from 'zod'
import { UntrustedSource } from '../origin.ts'
import { TaskId } from '../task.ts'

const count = z.number().int().nonnegative()

const Hunk = z.object({
  oldStart: count,
  oldLines: count,
  newStart: count,
  newLines: count,
  heading: z.string(),
  /** Each starts with ' ', '+', '-' or '\', as in a patch. */
  lines: z.array(z.string()),
})

export const FileChange = z.object({
  path: z.string(),
  oldPath: z.string().optional(),
  status: z.enum(['added', 'modified', 'deleted', 'renamed', 'retyped']),
  additions: count.nullable(),
  deletions: count.nullable(),
  isBinary: z.boolean(),
  isSubmodule: z.boolean(),
  hunks: z.array(Hunk).optional(),
})
export type FileChange = z.infer<typeof FileChange>

/** A file that runs by itself for users who open, install or commit, with the reasons. */
export const FlaggedFile = z.object({ path: z.string(), reasons: z.array(z.string()) })
export type FlaggedFile = z.infer<typeof FlaggedFile>

/** What a task's branch would bring to its target. */
export const ChangesView = z.object({
  branch: z.string(),
  targetBranch: z.string(),
  base: z.string(),
  head: z.string(),
  mergeBase: z.string().nullable(),
  ahead: count,
  behind: count,
  files: z.array(FileChange),
  additions: count,
  deletions: count,
  conflicts: z.array(z.string()),
  /** Of everything that a merge would bring, whichever files were asked for. A merge by a user names them. */
  flagged: z.array(FlaggedFile),
  isTruncated: z.boolean(),
  /** Files in the worktree that are not committed yet. */
  uncommitted: z.array(z.string()),
  /** Why commits of the worktree are not on the branch, such as that another one is checked out. */
  problem: z.string().nullable().optional(),
  /** What untrusted content its agents had read when they wrote this. */
  untrusted: z.array(UntrustedSource).optional(),
})
export type ChangesView = z.infer<typeof ChangesView>

export const MergeRequest = z.object({
  how: z.enum(['merge', 'squash']).default('merge'),
  message: z.string().max(10_000).optional(),
  /** The commit that was looked at; if the branch has moved on since, nothing is merged. */
  expectedHead: z.string().optional(),
  /** Lets the files of the user's own checkout be brought along when the target is checked out there. */
  updateCheckout: z.boolean().default(false),
  /** Flagged files that the user has seen and accepts. They count only together with `expectedHead`. */
  acceptFlagged: z.array(z.string()).default([]),
})
export type MergeRequest = z.infer<typeof MergeRequest>

export const MergeOutcome = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('merged'), commit: z.string() }),
  z.object({ outcome: z.literal('nothing to merge') }),
  z.object({ outcome: z.literal('conflict'), files: z.array(z.string()) }),
])
export type MergeOutcome = z.infer<typeof MergeOutcome>

/** A file that more than one live branch changes. */
export const Overlap = z.object({
  path: z.string(),
  tasks: z.array(z.object({ taskId: TaskId, title: z.string(), branch: z.string() })),
  /** Pairs of tasks whose changes to it would conflict. */
  conflicts: z.array(z.tuple([TaskId, TaskId])),
})
export type Overlap = z.infer<typeof Overlap>

export const SnapshotView = z.object({
  name: z.string(),
  taskId: TaskId,
  commit: z.string(),
  reason: z.string(),
  takenAt: z.iso.datetime(),
})
export type SnapshotView = z.infer<typeof SnapshotView>

export const WorktreeView = z.object({
  taskId: TaskId,
  path: z.string(),
  branch: z.string().nullable(),
  state: z.string(),
  bytes: count.nullable(),
  /** Why nobody seems to need it any more; nothing when somebody does. */
  stale: z.string().nullable(),
})
export type WorktreeView = z.infer<typeof WorktreeView>
