import type { Image, QueueMessage } from '@matrix/protocol'

/** A piece of what the user side says to the model. */
export type UserPart = { type: 'text'; text: string } | ({ type: 'image' } & Image)

/**
 * A message as the model reads it. What is written here is part of every stored conversation: changing a word
 * changes how old sessions replay, and misses the provider's cache.
 */
export function formatMessage(message: QueueMessage): UserPart[] {
  switch (message.source) {
    case 'user':
      return [
        ...textPart(message.text),
        ...(message.images ?? []).map((image) => ({ type: 'image' as const, ...image })),
      ]
    case 'tree_change':
      return textPart(`[The task tree changed: ${message.changedTaskId}]\n${message.summary}`)
    case 'task_complete':
      return textPart(
        `[Task ${message.taskId} ${JSON.stringify(message.title)} ${message.success ? 'passed' : 'failed'}, cost $${message.costUsd.toFixed(4)}]\n${message.output}`,
      )
    case 'task_message':
      return textPart(
        `[Message from task ${message.fromTaskId} ${JSON.stringify(message.fromTitle)}${allowedTo(message)}${message.requestReply ? ', a reply is expected' : ''}]\n${message.content}`,
      )
    case 'clarify_response':
      return textPart(`[Answer to your question ${message.clarificationId}]\n${message.answer}`)
    case 'user_message_forwarded':
      return textPart(
        `[The user wrote to task ${message.toTaskId} ${JSON.stringify(message.toTitle)}]\n${message.text}`,
      )
    case 'cross_project':
      return textPart(
        `[Message from project ${message.fromProjectId} ${JSON.stringify(message.fromProject)}${senderOf(message)}${allowedTo(message)}]\n${message.content}`,
      )
    case 'background_complete':
      return textPart(
        `[Background process ${message.processId} ended with ${message.exitCode === null ? 'a signal' : `exit code ${message.exitCode}`}: ${message.command}]\n${message.output}`,
      )
    case 'compact':
      return []
    default:
      return message satisfies never
  }
}

/** The receiver has to know what the sender could do itself. */
function allowedTo({ rights, actsFor }: { rights?: string[] | undefined; actsFor?: string[] | undefined }): string {
  const behalf = actsFor ? `, for a sender that may ${actsFor.join(', ') || 'do nothing'}` : ''
  return `${rights ? `, which may ${rights.join(', ') || 'do nothing'}` : ''}${behalf}`
}

function senderOf({
  fromTaskId,
  fromTitle,
}: {
  fromTaskId?: string | undefined
  fromTitle?: string | undefined
}): string {
  return fromTaskId === undefined ? '' : `, task ${fromTaskId} ${JSON.stringify(fromTitle ?? '')}, not from the user`
}

/** Providers refuse a text that is empty or only white space. */
function textPart(text: string): UserPart[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}
