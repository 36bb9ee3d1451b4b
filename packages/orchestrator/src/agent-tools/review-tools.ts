import { MatrixError, orchestratorTools as names, printableLine } from '@matrix/protocol'
import { describeSource } from '@matrix/protocol/display'
import * as z from 'zod'
import { commitWork, mergeTask, readTaskChanges, updateBranch } from '../review.ts'
import { firstMadeAt } from './call-id.ts'
import { ownTool } from './own-tool.ts'

const taskId = z.string().describe('The id of the task, or its first 8 or more characters.')

export const commitTool = ownTool({
  name: names.commit,
  description:
    'Commits everything in your worktree that is not ignored, on your branch: the same as git add --all and git commit in the shell. Small commits with a message that says what changes for the reader.',
  sideEffect: 'write',
  input: z.object({ message: z.string().trim().min(1).max(10_000) }),
  async run(ctx, agent, { message }, callId) {
    const made = firstMadeAt(agent, callId, ctx.world.clock.now())
    const { commit, files, hooks } = await commitWork(ctx, { taskId: agent.taskId, message, ...made })
    const ran = hooks === undefined ? '' : `\nCommit hooks passed.${hooks && ` They printed:\n${hooks}`}`
    return commit ? `Committed ${commit.slice(0, 12)}: ${files.join(', ')}${ran}` : 'There is nothing to commit.'
  },
})

export const reviewTools = [
  commitTool,
  ownTool({
    name: names.updateBranch,
    description:
      'Brings what the task above has merged since into your branch. Commit first. Where both changed the same lines, the files get conflict markers: resolve them, then commit.',
    sideEffect: 'write',
    input: z.object({}),
    async run(ctx, agent) {
      const result = await updateBranch(ctx, agent.taskId)
      if (result.outcome === 'conflict')
        return `Conflicts in ${result.files.join(', ')}. The files have conflict markers now: resolve them, then commit.`
      return result.outcome === 'merged' ? 'Your branch is up to date.' : 'There was nothing new.'
    },
  }),
  ownTool({
    name: names.getChanges,
    description:
      'Shows what a task would bring to the task above it: files, diff, commits, and whether it merges cleanly.',
    input: z.object({ taskId, withDiff: z.boolean().optional(), paths: z.array(z.string()).optional() }),
    async run(ctx, _agent, { taskId: id, withDiff, paths }) {
      const changes = await readTaskChanges(ctx, id, { withHunks: withDiff === true, ...(paths && { paths }) })
      return describeChanges(changes)
    },
  }),
  ownTool({
    name: names.mergeTask,
    description:
      'Merges what a sub task has committed into the branch of the task above it. Look at its changes first. Works while the task still runs, so that commits can be taken one by one.',
    sideEffect: 'write',
    input: z.object({
      taskId,
      how: z.enum(['merge', 'squash']).optional(),
      message: z.string().max(10_000).optional(),
    }),
    async run(ctx, agent, { taskId: id, how = 'merge', message }, callId) {
      const task = ctx.tree.get(id)
      if (!ctx.tree.ancestors(task.id).some((above) => above.id === agent.taskId))
        throw new MatrixError('AUTHORIZATION_DENIED', `"${task.title}" is not one of your sub tasks`)
      const result = await mergeTask(ctx, task.id, {
        how,
        ...(message !== undefined && { message }),
        ...firstMadeAt(agent, callId, ctx.world.clock.now()),
      })
      if (result.outcome === 'conflict')
        return `Not merged: conflicts in ${result.files.join(', ')}. Ask the task to run update_branch and resolve them.`
      return result.outcome === 'merged' ? `Merged as ${result.commit.slice(0, 12)}.` : 'There is nothing to merge.'
    },
  }),
]

type Changes = Awaited<ReturnType<typeof readTaskChanges>>

const MAX_DIFF = 60_000

function describeChanges(changes: Changes): string {
  const {
    branch,
    targetBranch,
    ahead,
    behind,
    files,
    conflicts,
    flagged,
    uncommitted,
    problem,
    untrusted = [],
  } = changes
  const lines = [
    `${branch} → ${targetBranch}: ${ahead} commits ahead, ${behind} behind`,
    conflicts.length > 0 ? `Would conflict in: ${conflicts.join(', ')}` : 'Would merge cleanly.',
    ...(problem ? [`${problem}: commits there are not part of this.`] : []),
    ...(uncommitted.length > 0 ? [`Not committed yet: ${uncommitted.join(', ')}`] : []),
    ...(untrusted.length > 0
      ? [`Written after untrusted content was read: ${untrusted.map(describeSource).join('; ')}`]
      : []),
    ...(flagged.length > 0 ? ['These run by themselves when a user opens, installs or commits:'] : []),
    ...flagged.map(({ path, reasons }) => `! ${printableLine(path)}: ${reasons.join(' ')}`),
    ...files.map((file) => `${file.status} ${file.path} +${file.additions ?? '?'} −${file.deletions ?? '?'}`),
  ]
  for (const file of files)
    for (const hunk of file.hunks ?? [])
      lines.push(
        '',
        `--- ${file.oldPath ?? file.path}`,
        `+++ ${file.path}`,
        `@@ -${hunk.oldStart} +${hunk.newStart} @@`,
        ...hunk.lines,
      )
  const text = lines.join('\n')
  return text.length <= MAX_DIFF ? text : `${text.slice(0, MAX_DIFF)}\n[cut: ask for single files with paths]`
}
