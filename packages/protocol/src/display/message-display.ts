import type { QueueMessage } from '../queue-message.ts'
import { type Body, block, type Display, type DisplayOptions, display, prose } from './display.ts'
import { formatUsd, plural } from './quantity.ts'

/** Words on their way to an agent, as a person reads them. */
export function displayMessage(message: QueueMessage, options: DisplayOptions = {}): Display {
  switch (message.source) {
    case 'user':
      return display({
        speaker: 'user',
        isSpeech: true,
        title: 'You',
        summary: message.text || plural(message.images?.length ?? 0, 'picture'),
        bodies: [...prose(message.text, options), ...(message.images ?? []).map(picture)],
      })
    case 'tree_change':
      return display({
        speaker: 'system',
        weight: 'detail',
        title: 'The tree changed',
        summary: message.summary,
        bodies: prose(message.summary, options),
      })
    case 'task_complete':
      return display({
        speaker: 'task',
        isSpeech: true,
        tone: message.success ? 'good' : 'bad',
        title: `${message.success ? 'Passed' : 'Failed'}: ${message.title}`,
        summary: `${formatUsd(message.costUsd)} · ${message.output}`,
        bodies: prose(message.output, options),
      })
    case 'task_message':
      return display({
        speaker: 'task',
        isSpeech: true,
        title: `${message.requestReply ? `${message.fromTitle} asks` : message.fromTitle}${allowedTo(message)}`,
        summary: message.content,
        bodies: prose(message.content, options),
      })
    case 'clarify_response':
      return display({
        speaker: 'user',
        isSpeech: true,
        tone: 'good',
        title: 'Answer',
        summary: message.answer,
        bodies: prose(message.answer, options),
      })
    case 'user_message_forwarded':
      return display({
        speaker: 'user',
        weight: 'detail',
        title: `You, to ${message.toTitle}`,
        summary: message.text,
        bodies: prose(message.text, options),
      })
    case 'cross_project':
      return display({
        speaker: 'task',
        isSpeech: true,
        title: `From project ${message.fromProject}${message.fromTitle ? `, ${message.fromTitle}` : ''}${allowedTo(message)}`,
        summary: message.content,
        bodies: prose(message.content, options),
      })
    case 'background_complete':
      return display({
        speaker: 'tool',
        tone: message.exitCode === 0 ? 'good' : 'warning',
        title: message.exitCode === null ? 'A command was ended' : `A command ended with ${message.exitCode}`,
        summary: message.command,
        bodies: [{ kind: 'command', command: block(message.command, options), output: block(message.output, options) }],
      })
    case 'compact':
      return display({ speaker: 'user', weight: 'detail', tone: 'muted', title: 'Sum up the conversation' })
    default:
      return message satisfies never
  }
}

/** Whose words they are is only half of it: the other half is what the sender may do. */
function allowedTo({ rights, actsFor }: { rights?: string[] | undefined; actsFor?: string[] | undefined }): string {
  if (!rights) return ''
  const behalf = actsFor ? `, for a sender that may ${actsFor.join(', ') || 'do nothing'}` : ''
  return ` (may ${rights.join(', ') || 'do nothing'}${behalf})`
}

function picture({ mediaType, data }: { mediaType: string; data: string }): Body {
  return { kind: 'image', mediaType, data }
}
