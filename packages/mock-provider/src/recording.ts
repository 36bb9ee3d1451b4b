import type { DurableEvent, TokenUsage } from '@matrix/protocol'
import type { Conversation, ReplyPart, Turn } from './playbook.ts'

type EventOf<T extends DurableEvent['type']> = Extract<DurableEvent, { type: T }>

/**
 * Turns a session into the conversation that the mock would have to play for it. An agent that hears the same
 * messages and gets the same results then makes the same requests.
 */
export function recordConversation(
  events: Iterable<DurableEvent>,
  options: { name?: string; match?: string } = {},
): Conversation {
  let turns: Turn[] = []
  let text: EventOf<'assistant_text'> | undefined
  let calls: EventOf<'tool_call'>[] = []
  let fresh = false

  for (const event of events) {
    if (event.type === 'assistant_text') text = event
    if (event.type === 'tool_call') calls.push(event)
    if (event.type === 'compact_marker') fresh = true
    // What a fork's child inherited was asked by others.
    if (event.type === 'fork_marker') turns = []
    if (event.type !== 'turn_completed') continue
    if (event.stopReason !== 'failed') {
      turns.push({
        ...(fresh && { fresh }),
        parts: toParts(text, calls),
        stopReason: event.stopReason,
        usage: toUsage(event.usage),
      })
      fresh = false
    }
    text = undefined
    calls = []
  }
  return { ...options, turns }
}

function toUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: TokenUsage): TokenUsage {
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }
}

function toParts(spoken: EventOf<'assistant_text'> | undefined, calls: EventOf<'tool_call'>[]): ReplyPart[] {
  const kept = keptBlocks(spoken?.provider)
  if (kept) return kept.flatMap((block) => toPart(block, spoken?.text ?? '', calls))
  return [...(spoken?.text ? [{ text: spoken.text }] : []), ...calls.map(toCall)]
}

/** Adapters keep the order of an answer's blocks when it is not simply text and then calls. */
function keptBlocks(provider: unknown): Record<string, unknown>[] | undefined {
  if (typeof provider !== 'object' || provider === null) return undefined
  const list = 'blocks' in provider ? provider.blocks : 'items' in provider ? provider.items : undefined
  return Array.isArray(list) ? list : undefined
}

function toPart(block: Record<string, unknown>, text: string, calls: EventOf<'tool_call'>[]): ReplyPart[] {
  const id = typeof block.id === 'string' ? { id: block.id } : {}
  if ('callId' in block)
    return calls.filter((call) => call.callId === block.callId).map((call) => ({ ...toCall(call), ...id }))
  if ('wholeText' in block)
    return text === '' ? [] : [{ text, ...(typeof block.wholeText === 'string' && { id: block.wholeText }) }]
  switch (block.type) {
    case 'text':
      return [{ text: String(block.text) }]
    case 'thinking':
      return [{ thinking: String(block.thinking), signature: String(block.signature) }]
    case 'redacted_thinking':
      return [{ redactedThinking: String(block.data) }]
    case 'reasoning':
      return [{ ...toReasoning(block), ...id }]
    case 'message':
      return [{ text: firstText(block.content), ...id }]
    default:
      return []
  }
}

function toReasoning({ summary, encrypted_content }: Record<string, unknown>): ReplyPart {
  const shown = firstText(summary)
  return shown === ''
    ? { redactedThinking: String(encrypted_content) }
    : { thinking: shown, signature: String(encrypted_content) }
}

function firstText(parts: unknown): string {
  const [first] = Array.isArray(parts) ? parts : []
  return String(first?.text ?? first?.refusal ?? '')
}

function toCall({ callId, name, input, invalidInput }: EventOf<'tool_call'>): ReplyPart {
  return { toolCall: { id: callId, name, ...(invalidInput === undefined ? { input } : { rawInput: invalidInput }) } }
}
