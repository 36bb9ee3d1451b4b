import * as z from 'zod'

/** Text that `new RegExp` takes. */
const RegExpSource = z.string().superRefine((source, context) => {
  try {
    new RegExp(source)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
  }
})

/** What a text must contain, or the pattern it must match; `{ regex }` is how a JSON file writes a pattern. */
export const TextPattern = z.union([
  z.string(),
  z.instanceof(RegExp),
  z.strictObject({
    regex: RegExpSource,
    flags: z
      .string()
      .regex(/^[dimsuv]*$/)
      .optional(),
  }),
])
export type TextPattern = z.infer<typeof TextPattern>

/** What must be true of a request before its turn is answered. */
export const Assertion = z.strictObject({
  /** The results of the last turn's calls, in the order of the calls. */
  toolResults: z.array(TextPattern).optional(),
  /** Each must be found in what the user side said since the last answer. */
  userText: z.union([TextPattern, z.array(TextPattern)]).optional(),
  /** Each must be found in what the user side said since the history began, whenever that was. */
  heard: z.array(TextPattern).optional(),
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
  pattern: z.union([RegExpSource, z.instanceof(RegExp)]),
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

/** An answer to something that has no place of its own in the script. */
export const Aside = Turn.extend({
  /** Found in what was said since the last answer, results included. Without it, whatever was said. */
  when: TextPattern.optional(),
  /** Makes the calls of the last answer once more, as a model does whose calls were interrupted. */
  again: z.literal(true).optional(),
})
export type Aside = z.infer<typeof Aside>

const asides = {
  /** Come before the script, whenever their `when` is said. Only in a stateless playbook. */
  asides: z.array(Aside).optional(),
  /** Come where the turn that is due expects something else. Only in a stateless playbook. */
  otherwise: z.array(Aside).optional(),
}

/** What one agent will hear. The first conversation whose `match` fits an agent's opening words is its own. */
export const Conversation = z.strictObject({
  name: z.string().optional(),
  /** Found in the system prompt, the first message or the API key. Without it, the conversation is anybody's. */
  match: TextPattern.optional(),
  /** For an agent that inherits another's history: found where its own begins. Only in a stateless playbook. */
  forkedAt: TextPattern.optional(),
  turns: z.array(Turn),
  ...asides,
  /** The same words may be said to this agent more than once, as people do; otherwise that is refused. */
  repeats: z.boolean().optional(),
  /** Start again from the first turn when all have been played, for demos that are never over. */
  repeat: z.boolean().optional(),
})
export type Conversation = z.infer<typeof Conversation>

const PlaybookFields = z.strictObject({
  title: z.string().optional(),
  /** What to type to begin the story, for whoever plays it. */
  opening: z.string().optional(),
  /**
   * A request alone decides its answer: which conversation by what the agent was told first, which turn by how many
   * answers stand in the request. The same request gets the same answer, from any mock, at any time.
   */
  stateless: z.boolean().optional(),
  ...asides,
  conversations: z.array(Conversation),
})

/** A whole story: every agent's conversation. */
export const Playbook = PlaybookFields.superRefine((playbook, context) => {
  const findings = playbook.stateless
    ? [...findForgotten(playbook), ...findNamesakes(playbook)]
    : findStateless(playbook)
  for (const { path, message } of findings) context.addIssue({ code: 'custom', path, message })
})
export type Playbook = z.infer<typeof PlaybookFields>

type Finding = { path: (string | number)[]; message: string }

/** What only a stateless playbook can keep to. */
function findStateless(playbook: Playbook): Finding[] {
  const message = 'needs "stateless": true in the playbook'
  const places = [
    { fields: playbook, at: [] as (string | number)[] },
    ...playbook.conversations.map((fields, index) => ({ fields, at: ['conversations', index] })),
  ]
  return places.flatMap(({ fields, at }) =>
    ['asides', 'otherwise', 'forkedAt'].filter((key) => key in fields).map((key) => ({ path: [...at, key], message })),
  )
}

/** Answers that leave nothing behind in the next request by which a stateless mock could know that they were given. */
function findForgotten({ conversations }: Playbook): Finding[] {
  return conversations.flatMap(({ turns }, conversation) =>
    turns.flatMap((turn, index) => {
      const path = ['conversations', conversation, 'turns', index]
      if (!leavesTrace(turn))
        return [{ path, message: 'says nothing that the next request would repeat: give it text or a call' }]
      const before = turns[index - 1]
      return turn.fresh && !JSON.stringify(before ?? '').includes('{{place}}')
        ? [{ path, message: 'is fresh, but the turn before it has no {{place}} in its summary to go on from' }]
        : []
    }),
  )
}

/** A summary names the conversation that goes on after it. */
function findNamesakes({ conversations }: Playbook): Finding[] {
  const names = conversations.map(({ name }) => name)
  return names.flatMap((name, index) =>
    name !== undefined && names.indexOf(name) < index
      ? [{ path: ['conversations', index, 'name'], message: `${JSON.stringify(name)} is the name of another one` }]
      : [],
  )
}

function leavesTrace({ text = '', toolCalls = [], parts = [] }: Turn): boolean {
  if (text.trim() !== '' || toolCalls.length > 0) return true
  return parts.some((part) => 'toolCall' in part || ('text' in part && part.text.trim() !== ''))
}
