import { MatrixError, printableLine } from '@matrix/protocol'
import type { ApprovalAnswer, ApprovalRequest } from '@matrix/tool-manager'
import type { ProjectContext } from './project-context.ts'
import { isoNow } from './world.ts'

type Decision =
  | { decision: 'deny'; reason?: string | undefined }
  | { decision: 'allow'; scope: 'once' | 'task' | 'always'; inputDigest: string }

/** Puts a call before a person and waits for the answer. The question is gone when the call is. */
export function askForApproval(
  ctx: ProjectContext,
  taskId: string,
  request: Omit<ApprovalRequest, 'agent'>,
  { signal }: { signal: AbortSignal },
): Promise<ApprovalAnswer> {
  const id = `approval:${request.id}`
  const { uri, side_effect_class: sideEffect, input, inputDigest, reason, expiresAt } = request
  const answered = new Promise<ApprovalAnswer>((resolve) => {
    ctx.approvals.set(request.id, resolve)
    const end = () => resolve({ decision: 'deny', reason: 'Nobody answered in time.' })
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
  ctx.attention.add({
    id,
    kind: 'approval',
    projectId: ctx.id,
    taskId,
    taskTitle: ctx.tree.get(taskId).title,
    text: `Wants to use ${printableLine(uri)}: ${reason}`,
    since: isoNow(ctx.world),
    approval: { uri, sideEffect, input, inputDigest, reason, expiresAt: new Date(expiresAt).toISOString() },
  })
  return answered.finally(() => {
    ctx.approvals.delete(request.id)
    ctx.attention.remove(id)
  })
}

export function answerApproval(ctx: ProjectContext, approvalId: string, decision: Decision): void {
  const id = approvalId.replace(/^approval:/, '')
  const resolve = ctx.approvals.get(id)
  if (!resolve) throw new MatrixError('APPROVAL_UNKNOWN', `Nothing waits for the approval ${printableLine(id)}`)
  if (decision.decision === 'deny') {
    resolve({ decision: 'deny', ...(decision.reason && { reason: decision.reason }) })
    return
  }
  const asked = ctx.attention.find(`approval:${id}`)?.approval
  if (asked?.inputDigest !== decision.inputDigest)
    throw new MatrixError('APPROVAL_UNKNOWN', 'The arguments are not the ones that were looked at', {
      hint: 'Look at the call again, then decide.',
    })
  resolve({ decision: 'allow', scope: decision.scope, id, inputDigest: decision.inputDigest })
}
