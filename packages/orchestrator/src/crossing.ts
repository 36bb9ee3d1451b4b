import { digestValue, type Grant } from '@matrix/manifest'
import { MatrixError, orchestratorTools as names } from '@matrix/protocol'
import type { Agent } from './agent.ts'
import { idForCall, messageIdForCall } from './agent-tools/call-id.ts'
import { askForApproval } from './approvals.ts'
import type { FlowVerdict } from './flow.ts'
import { judgeFlow } from './flow-question.ts'
import type { CrossMessage, Neighbour, ProjectContext } from './project-context.ts'
import { isWeaker, rightsOf, type SenderRights, senderRights, shownRights } from './sender-rights.ts'
import { strongest } from './server-approval.ts'

type Words = { projectId: string; content: string }

/** An answer that takes a weekend is still an answer. */
const PATIENCE_MS = 365 * 24 * 3600 * 1000

/**
 * Sends words to the root agent of another project. The user approves each pair of projects and direction once, and sees every
 * message to an agent that may do something which the sender may not, or that was written after untrusted content was read.
 * Whatever the reasons, it is one question.
 */
export async function sendToProject(ctx: ProjectContext, agent: Agent, words: Words, callId: string): Promise<string> {
  if (words.projectId === ctx.id)
    throw new MatrixError('REQUEST_INVALID', 'This is your own project', { hint: 'Use send_message.' })
  const id = `${ctx.id}/${messageIdForCall(agent, callId)}`
  let approved: string | undefined
  for (;;) {
    const question = await openQuestion(ctx, agent, words, id)
    // Made again after a crash: the user has answered already.
    if (question.to.hasHeard) return 'Sent.'
    if (question.flow?.verdict === 'deny') throw new MatrixError('AUTHORIZATION_DENIED', 'This call was not allowed')
    // Rights may change while the user decides: only what was shown is approved.
    if (!question.isNeeded || question.inputDigest === approved) {
      await ctx.neighbours.send(words.projectId, messageOf(ctx, agent, { id, content: words.content }, question.sender))
      return 'Sent.'
    }
    const refusal = await ask(ctx, agent, question, callId)
    if (refusal !== undefined) return refusal
    approved = question.inputDigest
  }
}

function messageOf(
  ctx: ProjectContext,
  { taskId }: Agent,
  words: { id: string; content: string },
  sender: SenderRights,
): CrossMessage {
  return { ...words, fromTaskId: taskId, fromTitle: ctx.tree.get(taskId).title, ...shownRights(sender) }
}

type Question = {
  to: Neighbour
  sender: SenderRights
  isWeaker: boolean
  flow: FlowVerdict | undefined
  isNeeded: boolean
  input: Record<string, string>
  inputDigest: string
}

async function openQuestion(
  ctx: ProjectContext,
  agent: Agent,
  { projectId, content }: Words,
  messageId: string,
): Promise<Question> {
  const sender = await senderRights(ctx, agent.taskId)
  const to = await ctx.neighbours.find(projectId, messageId)
  const weaker = isWeaker(sender, to.grant)
  const flow = await judgeFlow(ctx, agent.taskId, { action: 'project', what: 'The message leaves this project.' })
  const input = {
    ...{ to: to.name, projectId: to.id, content, senderMay: listed(sender.grant) },
    ...(sender.actsFor && { senderActsForOneThatMay: sender.actsFor.join(', ') || 'nothing' }),
    receiverMay: listed(to.grant),
  }
  const inputDigest = digestValue({ input, sender: sender.grant ?? null, receiver: to.grant ?? null })
  const isNeeded = weaker || !to.isApproved || flow !== undefined
  return { to, sender, isWeaker: weaker, flow, isNeeded, input, inputDigest }
}

/** Undefined once the user has approved; otherwise what the sender is told. */
async function ask(ctx: ProjectContext, agent: Agent, question: Question, callId: string): Promise<string | undefined> {
  const { to, flow, input, inputDigest } = question
  const answer = await askForApproval(
    ctx,
    agent.taskId,
    {
      id: `crossing-${idForCall(agent, callId)}`,
      uri: names.sendMessageToProject,
      side_effect_class: strongest((to.grant?.manifest.allowed_side_effects ?? []).map((each) => ({ class: each }))),
      input,
      inputDigest,
      reason: reasonsOf(question).join(' '),
      ...(flow && { led: flow.led }),
      expiresAt: ctx.world.clock.now() + PATIENCE_MS,
      scopes: question.isWeaker || flow ? ['once'] : ['once', 'always'],
    },
    { signal: agent.abort.signal, holdsUp: (one) => one === agent },
  )
  if (agent.abort.signal.aborted) throw new MatrixError('TOOL_CANCELLED', 'The agent was stopped')
  if (answer.decision === 'deny')
    return `Not sent: the user denied it${answer.reason ? `: ${answer.reason}` : '.'} Do without it, and say so at the end.`
  if (answer.scope === 'always') await ctx.neighbours.approve(to.id)
  return undefined
}

function reasonsOf({ to, isWeaker: weaker, flow }: Question): string[] {
  const ofRights = `The agent of "${to.name}" may do more than the sender. It and its sub tasks act on the message with their own rights, so every such message is shown to you.`
  return [
    ...(to.isApproved ? [] : [`Agents of this project have no approval to message "${to.name}".`]),
    ...(weaker ? [ofRights] : []),
    ...(flow ? [flow.reason] : []),
  ]
}

function listed(grant: Grant | undefined): string {
  return grant ? rightsOf(grant).join(', ') || 'nothing' : 'unknown'
}
