import { loopTools, type TaskNode } from '@matrix/protocol'
import { textResult } from '@matrix/provider-loop'
import * as z from 'zod'
import { type ProjectContext, taskAbove } from '../project-context.ts'
import { mayCall, ownTool } from './own-tool.ts'
import { commitTool } from './review-tools.ts'

export const doneTool = ownTool({
  name: loopTools.done,
  description:
    'Ends your task. Say whether it passed or failed, and sum up what was done, what was not, and what the task above should know. Everything must be committed, and your sub tasks must have ended: wait for those that run, close or delete those that never started.',
  input: z.object({ status: z.enum(['passed', 'failed']), summary: z.string().min(1).max(100_000) }),
  async run(ctx, agent, { status, summary }, callId) {
    const open = describeOpen(ctx, agent.taskId)
    if (open) return textResult(`Not ended: ${open}`, true)
    // Whoever may not commit could never end.
    const mayCommit = mayCall(agent, commitTool)
    if (mayCommit) await ctx.worktrees.settle(agent.taskId)
    const uncommitted = mayCommit ? await ctx.worktrees.uncommitted(agent.taskId) : []
    if (uncommitted.length > 0)
      return textResult(
        `Not ended: not committed yet: ${uncommitted.slice(0, 20).join(', ')}. Commit what belongs to your work and remove the rest.`,
        true,
      )
    agent.endingCall = callId
    return {
      ...textResult('The task is ended.'),
      control: { kind: 'exit', exitReason: `done_${status}`, output: summary },
    }
  },
})

/** Which sub tasks have not ended. A draft is not meant to run yet, and a persistent task starts over when it is closed. */
function describeOpen(ctx: ProjectContext, taskId: string): string | undefined {
  const below = ctx.tree.subtree(taskId).filter(({ id, folder }) => id !== taskId && !folder)
  const running = below.filter(({ status }) => status === 'in_progress')
  const unstarted = below.filter(
    ({ id, status, persistent }) => status === 'pending' && !persistent && taskAbove(ctx, id)?.id === taskId,
  )
  if (running.length > 0) return `${namesOf(running)} still run. Wait for them with yield, or tell them to stop.`
  if (unstarted.length > 0)
    return `${namesOf(unstarted)} never started. Start them with send_message, or close or delete what is not needed.`
  return undefined
}

function namesOf(tasks: readonly TaskNode[]): string {
  return tasks.map(({ title }) => `"${title}"`).join(', ')
}
