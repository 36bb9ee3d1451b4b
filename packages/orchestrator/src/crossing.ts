import { attenuate, digestValue, type Grant } from '@matrix/manifest'
import { MatrixError, orchestratorTools as names } from '@matrix/protocol'
import type { Agent } from './agent.ts'
import { idForCall, messageIdForCall } from './agent-tools/call-id.ts'
import { askForApproval } from './approvals.ts'
import { agentsAbove, type Neighbour, type ProjectContext } from './project-context.ts'
import { strongest } from './server-approval.ts'

type Words = { projectId: string; content: string }

/** An answer that takes a weekend is still an answer. */
const PATIENCE_MS = 365 * 24 * 3600 * 1000

/**
 * Sends words to the root agent of another project. The user approves each pair of projects and direction once, and sees every
 * message to an agent that may do something which the sender may not.
 */
export async function sendToProject(
  ctx: ProjectContext,
  agent: Agent,
  { projectId, content }: Words,
  callId: string,
): Promise<string> {
  if (projectId === ctx.id)
    throw new MatrixError('REQUEST_INVALID', 'This is your own project', { hint: 'Use send_message.' })
  const { title } = ctx.tree.get(agent.taskId)
  const grant = await grantOf(ctx, agent.taskId)
  const message = {
    id: `${ctx.id}/${messageIdForCall(agent, callId)}`,
    fromTaskId: agent.taskId,
    fromTitle: title,
    ...(grant && { rights: rightsOf(grant) }),
    content,
  }
  const to = await ctx.neighbours.find(projectId, message.id)
  // Made again after a crash: the user has answered already.
  if (to.hasHeard) return 'Sent.'
  const isWeaker = !isWithin(grant, to.grant)
  if (isWeaker || !to.isApproved) {
    const refusal = await ask(ctx, agent, { callId, content, to, grant, isWeaker })
    if (refusal !== undefined) return refusal
  }
  await ctx.neighbours.send(projectId, message)
  return 'Sent.'
}

/** What the agent of a task may do; undefined where no manifest says so. */
export async function grantOf(ctx: ProjectContext, taskId: string): Promise<Grant | undefined> {
  return ctx.tools.grantOf?.(agentsAbove(ctx, taskId))
}

export function rightsOf({ manifest }: Grant): string[] {
  return [...manifest.allowed_side_effects]
}

/** Whether the receiver may do nothing that the sender may not. Where either is unknown, nobody can say so. */
function isWithin(sender: Grant | undefined, receiver: Grant | undefined): boolean {
  return sender !== undefined && receiver !== undefined && attenuate(sender, receiver).allowed
}

type Question = {
  callId: string
  content: string
  to: Neighbour
  grant: Grant | undefined
  isWeaker: boolean
}

/** Undefined once the user has approved; otherwise what the sender is told. */
async function ask(
  ctx: ProjectContext,
  agent: Agent,
  { callId, content, to, grant, isWeaker }: Question,
): Promise<string | undefined> {
  const input = { to: to.name, projectId: to.id, content, senderMay: listed(grant), receiverMay: listed(to.grant) }
  const answer = await askForApproval(
    ctx,
    agent.taskId,
    {
      id: `crossing-${idForCall(agent, callId)}`,
      uri: names.sendMessageToProject,
      side_effect_class: strongest((to.grant?.manifest.allowed_side_effects ?? []).map((each) => ({ class: each }))),
      input,
      inputDigest: digestValue(input),
      reason: isWeaker
        ? `The agent of "${to.name}" may do more than the sender, and acts on the message with its own rights. Every such message is shown to you.`
        : `Agents of this project have no approval to message "${to.name}".`,
      expiresAt: ctx.world.clock.now() + PATIENCE_MS,
      scopes: isWeaker ? ['once'] : ['once', 'always'],
    },
    { signal: agent.abort.signal, holdsUp: (one) => one === agent },
  )
  if (agent.abort.signal.aborted) throw new MatrixError('TOOL_CANCELLED', 'The agent was stopped')
  if (answer.decision === 'deny')
    return `Not sent: the user denied it${answer.reason ? `: ${answer.reason}` : '.'} Do without it, and say so at the end.`
  if (answer.scope === 'always') await ctx.neighbours.approve(to.id)
  return undefined
}

function listed(grant: Grant | undefined): string {
  return grant ? rightsOf(grant).join(', ') || 'nothing' : 'unknown'
}
