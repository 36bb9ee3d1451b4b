import { loopTools } from '@matrix/protocol'
import { textResult } from '@matrix/provider-loop'
import * as z from 'zod'
import { mayCall, ownTool } from './own-tool.ts'
import { commitTool } from './review-tools.ts'

export const doneTool = ownTool({
  name: loopTools.done,
  description:
    'Ends your task. Say whether it passed or failed, and sum up what was done, what was not, and what the task above should know. Everything must be committed, and your sub tasks must have ended.',
  input: z.object({ status: z.enum(['passed', 'failed']), summary: z.string().min(1).max(100_000) }),
  async run(ctx, agent, { status, summary }, callId) {
    const running = ctx.tree
      .subtree(agent.taskId)
      .filter(({ id, status }) => id !== agent.taskId && status === 'in_progress')
    if (running.length > 0)
      return textResult(
        `Not ended: ${running.map(({ title }) => `"${title}"`).join(', ')} still run. Wait for them with yield, or tell them to stop.`,
        true,
      )
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
