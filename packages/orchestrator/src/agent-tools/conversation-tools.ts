import { orchestratorTools as names, queueMessage } from '@matrix/protocol'
import * as z from 'zod'
import { sendToProject } from '../crossing.ts'
import { deliverMessage, isHeldByPerson } from '../delivery.ts'
import { senderRights, shownRights } from '../sender-rights.ts'
import { forkTask } from '../tasks.ts'
import { messageIdForCall } from './call-id.ts'
import { requireBelow, requireOwn } from './own-task.ts'
import { ownTool } from './own-tool.ts'

const taskId = z.string().describe('The id of the task, or its first 8 or more characters.')

export const conversationTools = [
  ownTool({
    name: names.sendMessage,
    description:
      'Says something to another task: starts its agent, wakes it, or reaches it while it works. The answer, if any, comes as a message; use yield to wait for it.',
    input: z.object({
      taskId,
      content: z.string().min(1).max(500_000),
      requestReply: z.boolean().optional().describe('Say that you wait for an answer.'),
    }),
    async run(ctx, agent, { taskId: to, content, requestReply }, callId) {
      const receiver = ctx.tree.get(to)
      if (content.trim() === '/compact') {
        const { id } = requireBelow(ctx, agent, to)
        if (isHeldByPerson(ctx, id)) return `Not compacted: the user has stopped "${receiver.title}".`
        await deliverMessage(ctx, id, queueMessage.compact({ id: messageIdForCall(agent, callId) }))
        return `The conversation of "${receiver.title}" will be compacted.`
      }
      const sender = await senderRights(ctx, agent.taskId)
      const message = queueMessage.taskMessage({
        id: messageIdForCall(agent, callId),
        fromTaskId: agent.taskId,
        fromTitle: ctx.tree.get(agent.taskId).title,
        ...shownRights(sender),
        content,
        ...(requestReply !== undefined && { requestReply }),
      })
      await deliverMessage(ctx, receiver.id, message)
      return isHeldByPerson(ctx, receiver.id)
        ? `Stored for "${receiver.title}". A person has stopped it: it reads this when they let it go on.`
        : `Sent to "${receiver.title}".`
    },
  }),
  ownTool({
    name: names.forkTaskContext,
    description:
      'Gives one of your sub tasks that has not started yet the whole conversation of your own task or of another sub task, so that it begins with what is known there. Start it with send_message afterwards.',
    input: z.object({ sourceTaskId: taskId, targetTaskId: taskId }),
    async run(ctx, agent, { sourceTaskId, targetTaskId }) {
      const source = requireOwn(ctx, agent, sourceTaskId)
      const target = await forkTask(ctx, source.id, requireBelow(ctx, agent, targetTaskId).id)
      return `fork_task_context completed. You are the PARENT. Forked "${source.title}" → "${target.title}". Use send_message to start the child agent.`
    },
  }),
  ownTool({
    name: names.listProjects,
    description: 'Lists the other projects on this machine.',
    input: z.object({}),
    async run(ctx) {
      const others = ctx.neighbours.list()
      return others.map(({ id, name }) => `${id}  ${name}`).join('\n') || 'There are no other projects.'
    },
  }),
  ownTool({
    name: names.sendMessageToProject,
    description:
      'Says something to the root agent of another project. The user may be asked first; the call waits for the answer.',
    input: z.object({ projectId: z.string(), content: z.string().min(1).max(500_000) }),
    run: (ctx, agent, words, callId) => sendToProject(ctx, agent, words, callId),
  }),
]
