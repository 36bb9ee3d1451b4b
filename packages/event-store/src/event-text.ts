import type { DurableEvent, QueueMessage } from '@matrix/protocol'

/** The longest text of one event that is searched; what stands after it is stored all the same. */
const LONGEST = 256 * 1024

/** What was said or done in an event, as a person would search for it. */
export function eventText(event: DurableEvent): string {
  const text = textOf(event)
  return text.length > LONGEST ? text.slice(0, LONGEST) : text
}

function textOf(event: DurableEvent): string {
  switch (event.type) {
    case 'message':
      return messageText(event.message)
    case 'assistant_text':
    case 'summarization_request':
    case 'compacted_resume':
      return event.text
    case 'tool_call':
      return `${event.name} ${valueText(event.input)}`
    case 'tool_result':
      return event.content.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
    case 'compact_marker':
      return event.checkpoint
    case 'orchestration_completed':
      return `${event.exitReason} ${event.output}`
    case 'task_started':
      return `${event.title} ${event.branch}`
    case 'clarification_requested':
      return [event.question, ...(event.options ?? [])].join('\n')
    case 'clarification_answered':
      return event.answer
    case 'fork_marker':
      return `${event.title}\n${event.description}`
    case 'error':
      return `${event.code} ${event.message}`
    case 'agent_stopped':
      return event.reason
    default:
      return ''
  }
}

function messageText(message: QueueMessage): string {
  switch (message.source) {
    case 'user':
    case 'user_message_forwarded':
      return message.text
    case 'tree_change':
      return message.summary
    case 'task_complete':
      return `${message.title}\n${message.output}`
    case 'task_message':
    case 'cross_project':
      return message.content
    case 'clarify_response':
      return message.answer
    case 'background_complete':
      return `${message.command}\n${message.output}`
    case 'compact':
      return ''
  }
}

/** The strings and numbers inside any value, without its punctuation. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .map(([key, part]) => (Array.isArray(value) ? valueText(part) : `${key} ${valueText(part)}`))
    .join('\n')
}
