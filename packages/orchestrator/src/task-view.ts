import type { TaskNode } from '@matrix/protocol'
import type { Activity, Problem, TaskDetail, TaskView } from '@matrix/protocol/http'
import type { Agent } from './agent.ts'
import { findGitProblem } from './git-note.ts'
import { type ProjectContext, taskAbove } from './project-context.ts'

/** A task as it is now, for screens. */
export function viewTask(ctx: ProjectContext, task: TaskNode): TaskView {
  const agent = ctx.agents.get(task.id)
  const fact = ctx.facts.of(task.id)
  const treeSpent = ctx.ledger.treeSpent(task.id)
  return {
    ...task,
    projectId: ctx.id,
    depth: ctx.tree.depth(task.id),
    activity: activityOf(ctx, task),
    doing: agent?.doing ?? null,
    problem: problemOfTask(ctx, task.id),
    costUsd: Math.max(task.costUsd, ctx.ledger.spent(task.id).usd),
    treeCostUsd: treeSpent.usd,
    treeSpent,
    contextTokens: agent?.contextTokens ?? null,
    contextWindow: agent?.contextWindow ?? null,
    model: agent?.model ?? null,
    pendingMessages: fact.state.pending.length,
    lastSeq: fact.lastSeq,
    lastAt: fact.lastAt ?? null,
    needs: ctx.attention.kindsOf(task.id),
  }
}

export function viewTaskDetail(ctx: ProjectContext, task: TaskNode, agentName: string): TaskDetail {
  const above = taskAbove(ctx, task.id)
  const fact = ctx.facts.of(task.id)
  return {
    ...viewTask(ctx, task),
    agentName,
    targetBranch: (above ? above.branch : task.baseBranch) ?? null,
    pending: [...fact.state.pending],
    usage: { ...fact.state.usage },
  }
}

function activityOf(ctx: ProjectContext, { id, status, folder }: TaskNode): Activity {
  const agent = ctx.agents.get(id)
  if (agent) return agentActivity(ctx, agent)
  const halt = ctx.halted.get(id)
  if (halt) return halt.kind
  // An agent that only waits is not in memory, and neither need it be.
  return status === 'in_progress' && !folder ? 'waiting' : 'off'
}

/** What an agent is up to. Whoever cannot go on until a person agrees does not work, however much of it is in memory. */
export function agentActivity({ approvals }: ProjectContext, agent: Agent): Activity {
  return isBusy(agent.activity) && [...approvals.values()].some(({ holdsUp }) => holdsUp(agent))
    ? 'waiting'
    : agent.activity
}

export function isBusy(activity: Activity): boolean {
  return activity === 'working' || activity === 'starting'
}

function problemOfTask(ctx: ProjectContext, taskId: string): Problem | null {
  const halt = ctx.halted.get(taskId)
  const own = ctx.agents.get(taskId)?.problem ?? (halt?.kind === 'blocked' ? halt.problem : undefined)
  return own ?? findGitProblem(ctx.worktrees.gitStatus(taskId)) ?? null
}
