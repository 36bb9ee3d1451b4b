import { type ApiRequest, joinText, sinceLastAnswer, Violation } from './api-request.ts'
import { type Reply, type ResolvedPart, signThinking } from './dialect.ts'
import type { Assertion, Capture, Conversation, Fault, ReplyPart, ScriptedCall, TextPattern, Turn } from './playbook.ts'
import { checkPrefix } from './prefix.ts'
import { countTokens, createPromptCache, type PromptUsage } from './prompt-cache.ts'
import { fillInValue, formatPattern, matchesText } from './text-pattern.ts'

/** What the script says to do with one request. */
export type Cue =
  | { kind: 'fault'; fault: Fault; turn: Turn; reply: Reply }
  | { kind: 'answer'; turn: Turn; reply: Reply }

/** One conversation as it is being played. */
export type Script = {
  name: string
  fits(opening: string): boolean
  remaining(): number
  /** Checks a request against its turn; throws `Violation` when it is not what was expected. */
  cue(request: ApiRequest): Cue
  /** The turn was answered in full. */
  advance(turn: Turn): void
}

export function openScript(conversation: Conversation, name: string, nextId: (prefix: string) => string): Script {
  const variables = new Map<string, string>()
  const cache = createPromptCache()
  const faults = new Map<Turn, number>()
  const turns = [...conversation.turns]
  let position = 0
  let before: ApiRequest | undefined

  function nextFault(turn: Turn): Fault | undefined {
    const used = faults.get(turn) ?? 0
    faults.set(turn, used + 1)
    return turn.faults?.[used]
  }

  return {
    name,
    fits: (opening) => conversation.match === undefined || matchesText(conversation.match, opening, variables),
    remaining: () => (conversation.repeat ? 0 : turns.length - position),

    cue(request) {
      if (conversation.repeat && position === turns.length) position = 0
      const turn = turns[position]
      if (!turn) throw new Violation(`${name}: a request too many, all ${turns.length} scripted turns were played`)
      if (before && !turn.fresh) checkPrefix(before, request)
      before = request
      const prompt = cache.read(request)
      capture(turn.capture, request, variables)
      if (turn.assert) checkAssertion(turn.assert, request, prompt, variables, `${name}, turn ${position + 1}`)

      const reply = resolveReply(fillInValue(plain(turn), variables), request, prompt, nextId)
      const fault = nextFault(turn)
      return fault ? { kind: 'fault', fault, turn, reply } : { kind: 'answer', turn, reply }
    },

    advance(turn) {
      if (turns[position] === turn) position += 1
    },
  }
}

/** A turn without its patterns, which are not JSON. */
function plain({ assert: _, capture: __, ...turn }: Turn): Turn {
  return turn
}

function capture(
  captures: Record<string, Capture> | undefined,
  request: ApiRequest,
  variables: Map<string, string>,
): void {
  for (const [name, { from, pattern }] of Object.entries(captures ?? {})) {
    const match = new RegExp(pattern).exec(textOf(request, from))
    if (!match) throw new Violation(`capture of "${name}": ${String(pattern)} is not in ${from}`)
    variables.set(name, match[1] ?? match[0])
  }
}

function textOf(request: ApiRequest, from: Capture['from']): string {
  if (from === 'system') return request.system
  const kind = from === 'toolResults' ? 'tool_result' : 'text'
  return joinText(sinceLastAnswer(request).filter((block) => block.kind === kind))
}

function checkAssertion(
  assertion: Assertion,
  request: ApiRequest,
  prompt: PromptUsage,
  variables: ReadonlyMap<string, string>,
  where: string,
): void {
  const failed = (what: string) => new Violation(`${where}: ${what}`)
  const expectText = (what: string, pattern: TextPattern, text: string) => {
    if (!matchesText(pattern, text, variables))
      throw failed(`${what} should match ${formatPattern(pattern)} but is ${JSON.stringify(text.slice(0, 2000))}`)
  }
  const said = sinceLastAnswer(request)

  if (assertion.system !== undefined) expectText('the system prompt', assertion.system, request.system)
  if (assertion.model !== undefined) expectText('the model', assertion.model, request.model)
  for (const pattern of [assertion.userText ?? []].flat())
    expectText('the user text', pattern, joinText(said.filter((block) => block.kind === 'text')))
  for (const name of assertion.tools ?? [])
    if (!request.toolNames.includes(name))
      throw failed(`the tool ${name} should be on offer; there are ${request.toolNames.join(', ') || 'none'}`)
  if (assertion.toolResults) {
    const results = said.filter((block) => block.kind === 'tool_result')
    if (results.length !== assertion.toolResults.length)
      throw failed(`${assertion.toolResults.length} tool results should be here, there are ${results.length}`)
    for (const [index, pattern] of assertion.toolResults.entries())
      expectText(`tool result ${index + 1}`, pattern, results[index]?.text ?? '')
  }
  const images = request.blocks.filter((block) => block.kind === 'image').length
  if (assertion.images !== undefined && images !== assertion.images)
    throw failed(`${assertion.images} images should be here, there are ${images}`)
  if (assertion.cachedShare !== undefined && cachedShare(prompt) < assertion.cachedShare)
    throw failed(
      `at least ${assertion.cachedShare} of the prompt should come from the cache, it is ${cachedShare(prompt).toFixed(3)}`,
    )
}

function cachedShare({ inputTokens, cacheReadTokens, cacheWriteTokens }: PromptUsage): number {
  return cacheReadTokens / (inputTokens + cacheReadTokens + cacheWriteTokens)
}

function resolveReply(turn: Turn, request: ApiRequest, prompt: PromptUsage, nextId: (prefix: string) => string): Reply {
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
