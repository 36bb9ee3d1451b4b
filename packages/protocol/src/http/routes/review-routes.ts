import * as z from 'zod'
import { ChangesView, MergeOutcome, MergeRequest, Overlap, SnapshotView, WorktreeView } from '../review.ts'
import { route } from '../route.ts'
import { flag, folderPath, inProject, ofTask, reference, TaskRef } from './fields.ts'

export const reviewRoutes = {
  getChanges: route(
    'GET /api/projects/:projectId/tasks/:taskId/changes',
    'review',
    'What a task would bring, and whether it merges',
    {
      params: ofTask,
      query: z.object({
        hunks: flag.optional(),
        ignoreWhitespace: flag.optional(),
        /** Only what changed after this commit of the branch. */
        since: z.string().max(64).optional(),
        path: z.string().optional(),
      }),
      response: ChangesView,
    },
  ),
  mergeTask: route('POST /api/projects/:projectId/tasks/:taskId/merge', 'review', 'Merges a task into its target', {
    params: ofTask,
    body: MergeRequest,
    response: MergeOutcome,
  }),
  listOverlaps: route(
    'GET /api/projects/:projectId/overlaps',
    'review',
    'Files that more than one live branch changes',
    {
      params: inProject,
      response: z.array(Overlap),
    },
  ),
  listWorktrees: route(
    'GET /api/projects/:projectId/worktrees',
    'review',
    'Worktrees, their size, and which nobody needs',
    {
      params: inProject,
      response: z.array(WorktreeView),
    },
  ),
  removeWorktree: route(
    'DELETE /api/projects/:projectId/worktrees/:taskId',
    'review',
    'Removes a worktree; unmerged work is kept as a snapshot',
    {
      params: ofTask,
      response: z.object({ snapshot: SnapshotView.nullable() }),
    },
  ),
  listSnapshots: route(
    'GET /api/projects/:projectId/snapshots',
    'review',
    'Work that was saved before its worktree went',
    {
      params: inProject,
      query: z.object({ taskId: TaskRef.optional() }),
      response: z.array(SnapshotView),
    },
  ),
  restoreSnapshot: route(
    'POST /api/projects/:projectId/snapshots/:name/restore',
    'review',
    'Writes the files of a snapshot into a new folder',
    {
      params: inProject.extend({ name: reference(200) }),
      body: z.object({ folder: folderPath }),
      response: SnapshotView,
    },
  ),
} as const
