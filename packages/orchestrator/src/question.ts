import { type DurableEvent, MatrixError, queueMessage } from '@matrix/protocol'
import { unaskedQuestion } from '@matrix/protocol/session'
import type { EventOf } from './agent.ts'
import { deliverMessage } from './delivery.ts'
import type { ProjectContext } from './project-context.ts'
import { isoNow } from './world.ts'

type Asked = EventOf<'clarification_requested'>

/** Some providers number the calls of each answer anew, so that only the time tells a question from an earlier one. */
function questionId({ taskId, ts, clarificationId }: Pick<Asked, 'taskId' | 'ts' | 'clarificationId'>): string {
  return `question:${taskId}:${Date.parse(ts)}:${clarificationId}`
}

/** Puts an agent's question before a person, and answers it itself when nobody does in time. */
export async function openQuestion(ctx: ProjectContext, asked: Asked): Promise<void> {
  const { taskId, question, options, ts } = asked
  const id = questionId(asked)
  ctx.attention.removeOf(taskId, 'question')
  ctx.attention.add({
    id,
    kind: 'question',
    projectId: ctx.id,
    taskId,
    taskTitle: ctx.tree.get(taskId).title,
    text: question,
    since: ts,
    ...(options && { options }),
  })
  ctx.touch(taskId)
  const { clarifyTimeoutMs } = await ctx.settings()
  if (clarifyTimeoutMs === undefined) return
  // A clock that was set back would have everybody wait for as long again.
  const left = Math.min(clarifyTimeoutMs, Math.max(0, Date.parse(ts) + clarifyTimeoutMs - ctx.world.clock.now()))
  ctx.questionTimers.get(id)?.()
  ctx.questionTimers.set(
    id,
    ctx.world.clock.after(left, () => void giveUp(ctx, asked).catch(() => undefined)),
  )
}

async function giveUp(ctx: ProjectContext, asked: Asked): Promise<void> {
  const { taskId, clarificationId } = asked
  const id = questionId(asked)
  if (!ctx.attention.find(id)) return
  const ts = isoNow(ctx.world)
  ctx.emit({
    kind: 'live',
    projectId: ctx.id,
    taskId,
    event: { type: 'clarification_timeout', taskId, ts, clarificationId },
  })
  const answer = 'Nobody answered in time. Decide as you think best, and say what you assumed.'
  await settle(ctx, { id, taskId, clarificationId, answer, by: 'timeout' })
}

/** Answers a question. The answer and the message that carries it are stored together. */
export async function answerQuestion(ctx: ProjectContext, id: string, answer: string): Promise<void> {
  const [, taskId = '', clarificationId = ''] = /^question:([^:]+):\d+:(.+)$/.exec(id) ?? []
  if (!ctx.attention.find(id)) throw new MatrixError('QUESTION_UNKNOWN', 'This question is not open any more')
  await settle(ctx, { id, taskId, clarificationId, answer, by: 'user' })
}

type Answer = { id: string; taskId: string; clarificationId: string; answer: string; by: 'user' | 'timeout' }

async function settle(ctx: ProjectContext, { id, taskId, clarificationId, answer, by }: Answer): Promise<void> {
  const fact: DurableEvent = {
    type: 'clarification_answered',
    taskId,
    ts: isoNow(ctx.world),
    clarificationId,
    answer,
    by,
  }
  const message = queueMessage.clarifyResponse({ id: `${id}/answer`, clarificationId, answer })
  await deliverMessage(ctx, taskId, message, { beside: [fact], byPerson: by === 'user' })
  ctx.questionTimers.get(id)?.()
  ctx.questionTimers.delete(id)
  ctx.attention.remove(id)
  ctx.touch(taskId)
}

/** Asks a question whose call was stored and which was not asked, as a crash leaves it. */
export async function askUnasked(ctx: ProjectContext, taskId: string): Promise<Asked | undefined> {
  const unasked = unaskedQuestion(ctx.facts.of(taskId).state)
  if (!unasked) return undefined
  const asked: Asked = { type: 'clarification_requested', taskId, ts: isoNow(ctx.world), ...unasked }
  await ctx.log.append(taskId, [asked])
  return asked
}
