import type { ApiRequest } from './api-request.ts'
import { type Reply, type ResolvedPart, signThinking } from './dialect.ts'
import type { ReplyPart, ScriptedCall, Turn } from './playbook.ts'
import { countTokens, type PromptUsage } from './prompt-cache.ts'
import { fillInValue, type Variables } from './text-pattern.ts'

/** Makes every choice that a turn leaves open. */
export function resolveReply(
  scripted: Turn,
  {
    request,
    prompt,
    variables,
    nextId,
  }: { request: ApiRequest; prompt: PromptUsage; variables: Variables; nextId: (prefix: string) => string },
): Reply {
  const turn = fillInValue(plain(scripted), variables)
  const callPrefix = request.dialect === 'anthropic' ? 'toolu' : 'call'
  const parts = partsOf(turn).map((part) => resolvePart(part, () => nextId(callPrefix)))
  const calls = parts.some((part) => part.kind === 'tool_call')
  return {
    id: nextId(request.dialect === 'anthropic' ? 'msg' : request.dialect === 'openai-chat' ? 'chatcmpl' : 'resp'),
    model: request.model,
    parts,
    refusal: turn.refusal,
    stopReason: turn.stopReason ?? (turn.refusal !== undefined ? 'refusal' : calls ? 'tool_use' : 'end_turn'),
    usage: { outputTokens: countTokens(JSON.stringify(parts)), ...prompt, ...definedOnly(turn.usage ?? {}) },
    chunkSize: turn.chunkSize ?? 20,
  }
}

function partsOf(turn: Turn): ReplyPart[] {
  if (turn.parts) return turn.parts
  return [
    ...(turn.thinking === undefined ? [] : [{ thinking: turn.thinking }]),
    ...(turn.text === undefined ? [] : [{ text: turn.text }]),
    ...(turn.toolCalls ?? []).map((toolCall) => ({ toolCall })),
  ]
}

function resolvePart(part: ReplyPart, nextCallId: () => string): ResolvedPart {
  const itemId = part.id
  if ('thinking' in part) {
    const signature = part.signature ?? signThinking(part.thinking)
    return { itemId, kind: 'thinking', text: part.thinking, signature }
  }
  if ('redactedThinking' in part) return { itemId, kind: 'redacted_thinking', data: part.redactedThinking }
  if ('text' in part) return { itemId, kind: 'text', text: part.text }
  return { itemId, kind: 'tool_call', call: resolveCall(part.toolCall, nextCallId) }
}

function resolveCall(call: ScriptedCall, nextCallId: () => string): { id: string; name: string; arguments: string } {
  return { id: call.id ?? nextCallId(), name: call.name, arguments: call.rawInput ?? JSON.stringify(call.input ?? {}) }
}

function definedOnly<Fields extends object>(
  fields: Fields,
): { [Key in keyof Fields]: Exclude<Fields[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}

/** A turn without its patterns, which are not JSON. */
function plain({ assert: _, capture: __, ...turn }: Turn): Turn {
  return turn
}
