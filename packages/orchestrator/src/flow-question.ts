import { digestValue, type SideEffect } from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import type { ResolvedTool } from '@matrix/tool-manager'
import type { Agent } from './agent.ts'
import { idForCall } from './agent-tools/call-id.ts'
import { askForApproval } from './approvals.ts'
import { checkFlow, type Flow, type FlowVerdict, flowTableOf, hostsAfter } from './flow.ts'
import { agentNameOf, flowOfCall, flowOfOwnCall } from './flow-of-call.ts'
import type { ProjectContext } from './project-context.ts'

/** An answer that takes a weekend is still an answer. */
const PATIENCE_MS = 365 * 24 * 3600 * 1000

/** What speaks against one action of a task, by the user's table. */
export async function judgeFlow(ctx: ProjectContext, taskId: string, flow: Flow): Promise<FlowVerdict | undefined> {
  return checkFlow(flow, { untrusted: ctx.tree.get(taskId).untrusted, table: await tableOf(ctx, taskId) })
}

async function tableOf(ctx: ProjectContext, taskId: string) {
  const { afterUntrusted } = await ctx.settings()
  return flowTableOf(afterUntrusted, await agentNameOf(ctx, taskId))
}

/** What speaks against a call of a server's tool. A conversation with nothing untrusted in it is not looked at. */
export async function checkCallFlow(
  ctx: ProjectContext,
  taskId: string,
  tool: ResolvedTool,
  input: Record<string, unknown>,
): Promise<FlowVerdict | undefined> {
  if (!ctx.tree.get(taskId).untrusted?.length) return undefined
  const flow = await flowOfCall(tool, input, {
    events: () => ctx.log.readActive(taskId),
    hosts: () => ctx.hosts.list(taskId),
    shipped: ctx.tools.shipped ?? new Set(),
  })
  return flow && judgeFlow(ctx, taskId, flow)
}

type OwnCall = { name: string; sideEffect?: SideEffect | undefined; input: Record<string, unknown>; callId: string }

/** The same for the orchestrator's own tools. The user is asked here, and a call that they deny is not made. */
export async function askAboutFlow(ctx: ProjectContext, agent: Agent, call: OwnCall): Promise<void> {
  const { name, sideEffect = 'network', input, callId } = call
  const { taskId, abort } = agent
  const flow = await flowOfOwnCall(ctx, taskId, name, input)
  const verdict = flow && (await judgeFlow(ctx, taskId, flow))
  if (!verdict) return
  const { reason, led } = verdict
  const answer =
    verdict.verdict === 'deny'
      ? { decision: 'deny' as const, reason: undefined }
      : await askForApproval(
          ctx,
          taskId,
          {
            ...{ id: `flow-${idForCall(agent, callId)}`, uri: name, side_effect_class: sideEffect },
            ...{ input, inputDigest: digestValue(input), reason, led, scopes: ['once'] },
            expiresAt: ctx.world.clock.now() + PATIENCE_MS,
          },
          { signal: abort.signal, holdsUp: (one) => one === agent },
        )
  if (abort.signal.aborted) throw new MatrixError('TOOL_CANCELLED', 'The agent was stopped')
  if (answer.decision === 'allow') return
  const why = answer.reason ? `: ${printableLine(answer.reason)}` : ''
  throw new MatrixError('AUTHORIZATION_DENIED', `This call was not allowed${why}`)
}

/** The hosts that the commands of a task reach now. */
export async function reachableHosts(ctx: ProjectContext, taskId: string): Promise<string[]> {
  const { untrusted } = ctx.tree.get(taskId)
  const hosts = await ctx.hosts.list(taskId)
  return untrusted?.length ? hostsAfter(hosts, { untrusted, table: await tableOf(ctx, taskId) }) : hosts
}
