import { MatrixError } from '@matrix/protocol'
import * as z from 'zod'

/** What a text must contain, or the pattern it must match; `{ regex }` is how a JSON file writes a pattern. */
export const TextPattern = z.union([
  z.string(),
  z.instanceof(RegExp),
  z.object({ regex: z.string(), flags: z.string().optional() }),
])
export type TextPattern = z.infer<typeof TextPattern>

/** What must be true of a request before its turn is answered. */
export const Assertion = z.strictObject({
  /** The results of the last turn's calls, in the order of the calls. */
  toolResults: z.array(TextPattern).optional(),
  /** Each must be found in what the user side said since the last answer. */
  userText: z.union([TextPattern, z.array(TextPattern)]).optional(),
  system: TextPattern.optional(),
  model: TextPattern.optional(),
  /** Names of tools that must be on offer. */
  tools: z.array(z.string()).optional(),
  images: z.int().nonnegative().optional(),
  /** The least share of the prompt that the provider could read from its cache, 0 to 1. */
  cachedShare: z.number().min(0).max(1).optional(),
})
export type Assertion = z.infer<typeof Assertion>

/** Takes the first group of a pattern from a request, for `{{name}}` in this turn and later ones. */
export const Capture = z.strictObject({
  from: z.enum(['userText', 'toolResults', 'system']),
  pattern: z.union([z.string(), z.instanceof(RegExp)]),
})
export type Capture = z.infer<typeof Capture>

/** One way to fail. Each hits one request; the next request of the conversation gets what follows. */
export const Fault = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    message: z.string().optional(),
    retryAfter: z.string().optional(),
    retryAfterMs: z.number().optional(),
  }),
  /** The connection ends before any answer. */
  z.strictObject({ kind: z.literal('disconnect') }),
  /** The stream ends after so many events, without its last words. */
  z.strictObject({ kind: z.literal('cut'), afterEvents: z.int().nonnegative() }),
  /** The stream ends in good order, but in the middle of the answer. */
  z.strictObject({ kind: z.literal('truncate'), afterEvents: z.int().nonnegative() }),
  /** The provider reports an error inside a stream that began well. */
  z.strictObject({ kind: z.literal('error_event'), afterEvents: z.int().nonnegative(), type: z.string().optional() }),
  /** Bytes that are not the protocol. */
  z.strictObject({ kind: z.literal('garbage') }),
  /** No answer, ever; the connection stays open. */
  z.strictObject({ kind: z.literal('silence') }),
])
export type Fault = z.infer<typeof Fault>

export const ScriptedCall = z.strictObject({
  name: z.string(),
  input: z.unknown().optional(),
  id: z.string().optional(),
  /** Sent as the arguments instead of `input`, valid JSON or not. */
  rawInput: z.string().optional(),
})
export type ScriptedCall = z.infer<typeof ScriptedCall>

const itemId = { id: z.string().optional() }

/** One piece of an answer, for answers whose order matters. `id` is what the Responses API calls the item. */
export const ReplyPart = z.union([
  z.strictObject({ thinking: z.string(), signature: z.string().optional(), ...itemId }),
  z.strictObject({ redactedThinking: z.string(), ...itemId }),
  z.strictObject({ text: z.string(), ...itemId }),
  z.strictObject({ toolCall: ScriptedCall, ...itemId }),
])
export type ReplyPart = z.infer<typeof ReplyPart>

const ScriptedUsage = z.strictObject({
  inputTokens: z.int().nonnegative().optional(),
  outputTokens: z.int().nonnegative().optional(),
  cacheReadTokens: z.int().nonnegative().optional(),
  cacheWriteTokens: z.int().nonnegative().optional(),
})

/** One request and its answer. */
export const Turn = z.strictObject({
  assert: Assertion.optional(),
  capture: z.record(z.string(), Capture).optional(),
  faults: z.array(Fault).optional(),
  /** The history may be a new one here, as after a compaction. */
  fresh: z.boolean().optional(),
  thinking: z.string().optional(),
  text: z.string().optional(),
  toolCalls: z.array(ScriptedCall).optional(),
  refusal: z.string().optional(),
  /** The whole answer in its own order, instead of `thinking`, `text` and `toolCalls`. */
  parts: z.array(ReplyPart).optional(),
  stopReason: z.string().optional(),
  usage: ScriptedUsage.optional(),
  /** How long until the first byte, how many characters per event, how long between events. */
  delayMs: z.number().nonnegative().optional(),
  chunkSize: z.int().positive().optional(),
  chunkDelayMs: z.number().nonnegative().optional(),
})
export type Turn = z.infer<typeof Turn>

/** What one agent will hear. The first conversation whose `match` fits an agent's opening words is its own. */
export const Conversation = z.strictObject({
  name: z.string().optional(),
  /** Found in the system prompt, the first message or the API key. Without it, the conversation is anybody's. */
  match: TextPattern.optional(),
  turns: z.array(Turn),
  /** Start again from the first turn when all have been played, for demos that are never over. */
  repeat: z.boolean().optional(),
})
export type Conversation = z.infer<typeof Conversation>

/** A whole story: every agent's conversation. */
export const Playbook = z.strictObject({
  title: z.string().optional(),
  /** What to type to begin the story, for whoever plays it. */
  opening: z.string().optional(),
  conversations: z.array(Conversation),
})
export type Playbook = z.infer<typeof Playbook>

/** Reads a playbook from JSON text. */
export function parsePlaybook(text: string, source = 'playbook'): Playbook {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new MatrixError('PLAYBOOK_INVALID', `${source} is not JSON: ${(cause as Error).message}`, { cause })
  }
  const result = Playbook.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new MatrixError('PLAYBOOK_INVALID', `${source}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}`)
}
