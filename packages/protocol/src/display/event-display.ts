import { readBudgetState } from '../budget-kind.ts'
import type { Event } from '../event.ts'
import { type Body, type Display, type DisplayOptions, display, json, line, prose } from './display.ts'
import { displayMessage } from './message-display.ts'
import { formatCount, formatSpending, formatUsd, plural } from './quantity.ts'
import { describeOrigin } from './source-display.ts'
import { displayToolCall, displayToolResult, type ToolCall } from './tool-display.ts'

export type EventDisplayOptions = DisplayOptions & {
  /** For a tool's result: the call that it answers. */
  call?: ToolCall | undefined
}

/** An event of a session as a person reads it, with a mark where its content is not trusted. */
export function displayEvent(event: Event, options: EventDisplayOptions = {}): Display {
  const shown = displayContent(event, options)
  const mark = 'origin' in event ? describeOrigin(event.origin) : undefined
  return mark === undefined ? shown : { ...shown, mark: line(mark, 120) }
}

/** An event that is new in the protocol does not compile until it is here. */
function displayContent(event: Event, options: EventDisplayOptions): Display {
  switch (event.type) {
    case 'message':
      return displayMessage(event.message, options)
    case 'messages_consumed':
      return trace('Read', plural(event.messageIds.length, 'message'))
    case 'messages_withdrawn':
      return note('Taken back before it was read', plural(event.messageIds.length, 'message'))
    case 'assistant_text':
      return speech(event.text, options)
    case 'tool_call':
      return displayToolCall(event, options)
    case 'tool_result':
      return displayToolResult(event, options.call, options)
    case 'turn_completed':
      return display({
        speaker: 'system',
        weight: 'trace',
        tone: 'muted',
        title: 'Turn',
        summary: `${event.isUnpriced ? 'cost unknown' : formatUsd(event.costUsd)} · ${formatCount(inputOf(event.usage))} in, ${formatCount(event.usage.outputTokens)} out · ${event.model}`,
      })
    case 'compact_started':
      return note('Sums up the conversation', `${formatCount(event.tokens)} tokens, ${event.reason}`)
    case 'summarization_request':
      return trace('Asked for a summary', event.text, prose(event.text, options))
    case 'compact_marker':
      return note('Summed up', event.checkpoint, prose(event.checkpoint, options))
    case 'compacted_resume':
      return trace('Goes on from the summary', event.text, prose(event.text, options))
    case 'notice':
      return display({
        speaker: 'system',
        weight: 'detail',
        tone: 'muted',
        title: 'Notice',
        summary: event.text,
        bodies: prose(event.text, options),
      })
    case 'orchestration_started':
      return note('Started', event.model)
    case 'orchestration_completed':
      return display({
        speaker: 'system',
        isSpeech: true,
        tone: event.exitReason === 'done_passed' ? 'good' : event.exitReason === 'interrupted' ? 'warning' : 'bad',
        title: `Ended: ${exitWords[event.exitReason] ?? event.exitReason}`,
        summary: `${formatUsd(event.costUsd)}, ${plural(event.turns, 'turn')} · ${event.output}`,
        bodies: prose(event.output, options),
      })
    case 'task_started':
      return note('Task started', `${event.title} on ${event.branch}`)
    case 'clarification_requested':
      return display({
        speaker: 'agent',
        isSpeech: true,
        tone: 'warning',
        title: 'Asks you',
        summary: event.question,
        bodies: prose([event.question, ...(event.options ?? []).map((one) => `- ${one}`)].join('\n'), options),
      })
    case 'clarification_answered':
      return display({
        speaker: event.by === 'user' ? 'user' : 'system',
        weight: 'trace',
        title: event.by === 'user' ? 'Answered' : 'Nobody answered in time',
        summary: event.answer,
        bodies: prose(event.answer, options),
      })
    case 'fork_marker':
      return note(
        'Knows what another task knew',
        `${options.titleOf?.(event.sourceTaskId) ?? event.sourceTaskId} → ${event.title}`,
        prose(event.description, options),
      )
    case 'rewind_marker':
      return note('Taken back', `The conversation goes on after event ${event.upTo}.`)
    case 'budget_warning':
      return budget('Budget nearly used up', 'warning', event)
    case 'budget_exceeded':
      return budget('Budget used up', 'bad', event)
    case 'session_config':
      return trace('Set up', `${event.provider} ${event.model}, ${plural(event.tools.length, 'tool')}`, [
        ...prose(event.systemPrompt, options),
        ...prose(event.tools.map(({ name }) => name).join('\n'), options),
      ])
    case 'config_requested':
      return trace(
        'Configuration',
        `The next start takes the current settings, asked for by ${event.by === 'user' ? 'a user' : 'a compaction'}`,
      )
    case 'error':
      return display({
        speaker: 'system',
        isSpeech: true,
        tone: 'bad',
        title: 'Error',
        summary: event.message,
        bodies: prose([event.message, event.hint ?? ''].join('\n'), options),
      })
    case 'agent_stopped':
      return display({ speaker: 'system', tone: 'warning', title: 'Stopped', summary: event.reason })
    case 'agent_resumed':
      return trace('Resumed', `by the ${event.by}`)
    case 'text_delta':
      return speech(event.text, options)
    case 'usage':
      return trace('Uses', `${formatUsd(event.costUsd)} · ${formatCount(event.contextTokens)} tokens of context`)
    case 'agent_idle':
      return trace('Waits', 'for a message')
    case 'agent_active':
      return trace('Works', '')
    case 'status':
      return display({ speaker: 'system', weight: 'detail', tone: 'muted', title: 'Status', summary: event.text })
    case 'tool_output':
      return trace('Output', event.text, prose(event.text, options))
    case 'clarification_timeout':
      return trace('Goes on without an answer', '')
    default:
      return unknown(event satisfies never, options)
  }
}

/** Any event of a session, also one that a newer daemon wrote: that is shown as it is. */
export function displayAnyEvent(event: Event | { type: string }, options: EventDisplayOptions = {}): Display {
  return displayEvent(event as Event, options)
}

function unknown(event: { type: string }, options: DisplayOptions): Display {
  return trace(event.type, 'an event that this version does not know', [json(event, options)])
}

const exitWords: Record<string, string> = {
  done_passed: 'passed',
  done_failed: 'failed',
  budget_exceeded: 'budget used up',
}

function speech(text: string, options: DisplayOptions): Display {
  return display({ speaker: 'agent', isSpeech: true, title: 'Agent', summary: text, bodies: prose(text, options) })
}

function note(title: string, summary: string, bodies: Body[] = []): Display {
  return display({ speaker: 'system', weight: 'detail', tone: 'muted', title, summary, bodies })
}

function trace(title: string, summary: string, bodies: Body[] = []): Display {
  return display({ speaker: 'system', weight: 'trace', tone: 'muted', title, summary, bodies })
}

function budget(title: string, tone: 'warning' | 'bad', event: Parameters<typeof readBudgetState>[0]) {
  const { scope, kind, spent, limit } = readBudgetState(event)
  const whose = scope === 'tree' ? 'with everything below it' : 'for itself'
  const shown = formatSpending(kind, spent, limit)
  return display({
    speaker: 'system',
    tone,
    title,
    summary: `${shown.spent} of ${shown.limit} ${whose}`,
  })
}

function inputOf(usage: { inputTokens: number; cacheReadTokens: number; cacheWriteTokens: number }): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
}
