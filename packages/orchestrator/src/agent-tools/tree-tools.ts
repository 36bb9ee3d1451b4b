import { budgetKinds, everyBudgetKind, orchestratorTools as names, SkillNames, type TaskNode } from '@matrix/protocol'
import { formatAmount } from '@matrix/protocol/display'
import { recordTask } from '@matrix/task-tree'
import * as z from 'zod'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'
import { budgetEdits, budgetsOf } from '../task-budgets.ts'
import { agentActivity } from '../task-view.ts'
import { closeTask, createTask, deleteTask, reorderTasks, resetTask, updateTask } from '../tasks.ts'
import { idForCall } from './call-id.ts'
import { requireBelow, requireOwn } from './own-task.ts'
import { ownTool } from './own-tool.ts'

const taskId = z.string().describe('The id of the task, or its first 8 or more characters.')
const byAgent = { editedBy: 'agent' } as const

const budgets = {
  budgetUsd: z.number().positive(),
  budgetTokens: z.number().positive(),
  budgetMinutes: z.number().positive(),
}

export const treeTools = [
  ownTool({
    name: names.createTask,
    description:
      'Adds a sub task with a worktree and a branch of its own. It waits until you send it a message. Say in the description what is wanted, why, and how to tell that it is done: its agent knows nothing of your conversation.',
    input: z.object({
      title: z.string().trim().min(1).max(200),
      description: z.string().max(100_000),
      parentId: taskId.optional().describe('One of your sub tasks to hang it under; your own task when left out.'),
      ...z.object(budgets).partial().shape,
      agent: z
        .string()
        .optional()
        .describe('The manifest of its agent; yours when left out. It can never do more than you.'),
      skills: SkillNames.optional().describe('Skills that it and all below it are held to.'),
      folder: z.literal(true).optional().describe('Only groups other tasks; no agent works on it.'),
      persistent: z
        .enum(['reset', 'continue'])
        .optional()
        .describe('Runs again after it is closed. Only for the root.'),
    }),
    async run(
      ctx,
      agent,
      { parentId, folder, persistent, agent: manifest, title, description, skills, ...limits },
      callId,
    ) {
      const parent = requireOwn(ctx, agent, parentId ?? agent.taskId)
      const task = await createTask(
        ctx,
        parent.id,
        {
          id: idForCall(agent, callId),
          title,
          description,
          ...(folder && { folder }),
          ...budgetsOf(limits),
          ...(persistent && { persistent }),
          ...(manifest !== undefined && { agent: manifest }),
          ...(skills && { skills }),
          untrusted: ctx.tree.get(agent.taskId).untrusted ?? [],
        },
        byAgent,
      )
      return `Created task ${task.id} "${task.title}".${folder ? '' : ' Use send_message to start it.'}`
    },
  }),
  ownTool({
    name: names.updateTask,
    description: 'Changes the title, description, budget or place of one of your sub tasks.',
    input: z.object({
      taskId,
      title: z.string().trim().min(1).max(200).optional(),
      description: z.string().max(100_000).optional(),
      budgetUsd: budgets.budgetUsd.nullable().optional(),
      budgetTokens: budgets.budgetTokens.nullable().optional(),
      budgetMinutes: budgets.budgetMinutes.nullable().optional(),
      parentId: taskId.optional(),
    }),
    async run(ctx, agent, { taskId: id, title, description, parentId, ...limits }) {
      const task = requireBelow(ctx, agent, id)
      const parent = parentId === undefined ? undefined : requireOwn(ctx, agent, parentId)
      const { untrusted = [] } = ctx.tree.get(agent.taskId)
      if (untrusted.length > 0) await recordTask(ctx.tree, task.id, { untrusted })
      const updated = await updateTask(
        ctx,
        task.id,
        {
          ...(title !== undefined && { title }),
          ...(description !== undefined && { description }),
          ...budgetEdits(limits),
          ...(parent && { parentId: parent.id }),
        },
        byAgent,
      )
      return `Changed task ${updated.id} "${updated.title}".`
    },
  }),
  ownTool({
    name: names.closeTask,
    description:
      'Closes a sub task: its worktree is removed, and what was not merged is kept as a snapshot. Merge it first. One that is at work cannot be closed, one that only waits is interrupted.',
    input: z.object({ taskId }),
    async run(ctx, agent, { taskId: id }) {
      const task = await closeTask(ctx, requireBelow(ctx, agent, id).id, byAgent)
      return `Task ${task.id} "${task.title}" is ${task.status}.`
    },
  }),
  ownTool({
    name: names.resetTask,
    description:
      'Brings a sub task back to its beginning: a new conversation and a new worktree when it is started again. One that is at work cannot be reset, one that only waits is interrupted.',
    input: z.object({ taskId }),
    async run(ctx, agent, { taskId: id }) {
      const task = await resetTask(ctx, requireBelow(ctx, agent, id).id, byAgent)
      return `Task ${task.id} "${task.title}" starts over with the next message.`
    },
  }),
  ownTool({
    name: names.deleteTask,
    description: 'Removes a sub task and everything below it from the tree.',
    input: z.object({ taskId }),
    async run(ctx, agent, { taskId: id }) {
      if (!ctx.tree.find(id)) return 'The task is gone.'
      await deleteTask(ctx, requireBelow(ctx, agent, id).id, byAgent)
      return 'The task is gone.'
    },
  }),
  ownTool({
    name: names.reorderTasks,
    description: 'Puts the sub tasks of a task in a new order. Name each of them once.',
    input: z.object({ taskId: taskId.optional().describe('Your own task when left out.'), children: z.array(taskId) }),
    async run(ctx, agent, { taskId: id, children }) {
      const parent = requireOwn(ctx, agent, id ?? agent.taskId)
      await reorderTasks(ctx, parent.id, children, byAgent)
      return 'The order is as you said.'
    },
  }),
  ownTool({
    name: names.getTree,
    description: 'Shows all tasks of the project: status, title, id, cost. Yours is marked.',
    input: z.object({}),
    async run(ctx, agent) {
      return ctx.tree
        .list()
        .map((task) => describeTask(ctx, agent, task))
        .join('\n')
    },
  }),
  ownTool({
    name: names.getTask,
    description: 'Shows one task in full: description, status, branch, worktree, cost, what its agent does.',
    input: z.object({ taskId }),
    async run(ctx, agent, { taskId: id }) {
      const task = ctx.tree.get(id)
      const running = ctx.agents.get(task.id)
      const lines = [
        describeTask(ctx, agent, task).trim(),
        `branch: ${task.branch ?? 'none yet'}`,
        `worktree: ${task.worktreePath ?? 'none yet'}`,
        `agent: ${running ? `${agentActivity(ctx, running)}${running.doing ? ` (${running.doing})` : ''}` : 'not running'}`,
        ...everyBudgetKind.flatMap((kind) => {
          const limit = task[budgetKinds[kind].budget]
          return limit === undefined ? [] : [`budget: ${formatAmount(kind, limit)}`]
        }),
        '',
        task.description,
      ]
      return lines.join('\n').trimEnd()
    },
  }),
]

function describeTask(ctx: ProjectContext, agent: Agent, task: TaskNode): string {
  const indent = '  '.repeat(ctx.tree.ancestors(task.id).length)
  const cost = ctx.ledger.spent(task.id).usd
  const mark = task.id === agent.taskId ? ' ← you' : ''
  const kind = task.folder ? 'folder' : task.status
  return `${indent}[${kind}] ${task.title} (${task.id})${cost > 0 ? ` $${cost.toFixed(4)}` : ''}${mark}`
}
