import { MatrixError, printableLine } from '@matrix/protocol'
import type { ApprovalAnswer, ApprovalRequest, ApprovalScope } from '@matrix/tool-manager'
import type { Agent } from './agent.ts'
import type { ProjectContext } from './project-context.ts'
import { isoNow } from './world.ts'

type Decision =
  | { decision: 'deny'; reason?: string | undefined }
  | {
      decision: 'allow'
      scope: 'once' | 'task' | 'always'
      inputDigest: string
      anyArguments?: boolean | undefined
    }

/** A question that is open: how it is answered, and whose work does not go on until then. */
export type OpenApproval = { answer(answer: ApprovalAnswer): void; holdsUp(agent: Agent): boolean }

type AskOptions = { signal: AbortSignal; holdsUp: OpenApproval['holdsUp'] }

/** Puts a call before a person and waits for the answer. The question is gone when the call is. */
export function askForApproval(
  ctx: ProjectContext,
  taskId: string,
  request: Omit<ApprovalRequest, 'agent'> & { host?: string; scopes?: ApprovalScope[] },
  { signal, holdsUp }: AskOptions,
): Promise<ApprovalAnswer> {
  const id = `approval:${request.id}`
  const { uri, side_effect_class: sideEffect, input, inputDigest, reason, expiresAt, host } = request
  const { mayAllowAny, scopes, led } = request
  const answered = new Promise<ApprovalAnswer>((resolve) => {
    ctx.approvals.set(request.id, { answer: resolve, holdsUp })
    const end = () => resolve({ decision: 'deny', reason: 'The user did not answer in time.' })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
  const touchHeldUp = () => {
    for (const agent of ctx.agents.values()) if (holdsUp(agent)) ctx.touch(agent.taskId)
  }
  touchHeldUp()
  const askedAt = ctx.world.clock.now()
  ctx.attention.add({
    id,
    kind: 'approval',
    projectId: ctx.id,
    taskId,
    taskTitle: ctx.tree.get(taskId).title,
    text: host ? `Wants to reach ${host}: ${reason}` : `Wants to use ${printableLine(uri)}: ${reason}`,
    since: isoNow(ctx.world),
    approval: {
      ...{ uri, sideEffect, input, inputDigest, reason, expiresAt: new Date(expiresAt).toISOString() },
      ...(host !== undefined && { host }),
      ...(mayAllowAny && { mayAllowAny }),
      ...(led && { led }),
      ...(scopes && { scopes }),
    },
  })
  return answered.finally(() => {
    ctx.approvals.delete(request.id)
    ctx.attention.remove(id)
    for (const agent of ctx.agents.values()) if (holdsUp(agent)) agent.waitedMs += ctx.world.clock.now() - askedAt
    touchHeldUp()
  })
}

export function answerApproval(ctx: ProjectContext, approvalId: string, decision: Decision): void {
  const id = approvalId.replace(/^approval:/, '')
  const open = ctx.approvals.get(id)
  if (!open) throw new MatrixError('APPROVAL_UNKNOWN', `The approval ${printableLine(id)} is no longer in the inbox`)
  if (decision.decision === 'deny') {
    open.answer({ decision: 'deny', ...(decision.reason && { reason: decision.reason }) })
    return
  }
  const asked = ctx.attention.find(`approval:${id}`)?.approval
  if (asked?.inputDigest !== decision.inputDigest)
    throw new MatrixError('APPROVAL_UNKNOWN', 'The arguments have changed since they were shown', {
      hint: 'Look at the call again, then decide.',
    })
  const { scope, inputDigest, anyArguments = false } = decision
  if (anyArguments && (!asked.mayAllowAny || scope === 'once'))
    throw new MatrixError('REQUEST_INVALID', 'This approval holds only for the arguments that were shown', {
      hint: 'Leave out `anyArguments`; it is for the scopes `task` and `always` of tools that are no shell.',
    })
  if (asked.scopes && !asked.scopes.includes(scope))
    throw new MatrixError('REQUEST_INVALID', `This can be allowed ${asked.scopes.join(' or ')}, not ${scope}`)
  open.answer({ decision: 'allow', scope, id, inputDigest, anyArguments })
}
