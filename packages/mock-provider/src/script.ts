import { type ApiRequest, openingText, Violation } from './api-request.ts'
import type { Reply } from './dialect.ts'
import { checkExpectation } from './expectation.ts'
import type { Conversation, Fault, Turn } from './playbook.ts'
import { checkPrefix } from './prefix.ts'
import { createPromptCache } from './prompt-cache.ts'
import { checkRepeats } from './repeats.ts'
import { matchesText } from './text-pattern.ts'
import { resolveReply } from './turn-reply.ts'

/** What is done with one request: its fault, or else its answer. */
export type Cue = {
  fault: Fault | undefined
  turn: Turn
  reply: Reply
  /** The turn was answered in full. */
  answered(): void
}

/** One conversation as it is being played. */
export type Script = {
  name: string
  /** Throws `Violation` when the request is not what the script expects. */
  cue(request: ApiRequest): Cue
}

/** All conversations of a mock. */
export type Cast = {
  add(conversation: Conversation): void
  /** Throws `Violation` when the request is nobody's. */
  find(request: ApiRequest, apiKey: string): Script
  /** Scripted turns that were not played yet, conversation by conversation. */
  remaining(): { name: string; turns: number }[]
}

/** Plays each conversation in order, one turn per request. */
export function createOrderedCast(): Cast {
  const scripts: OrderedScript[] = []
  let ids = 0
  const nextId = (prefix: string) => `${prefix}_mock${++ids}`

  return {
    add(conversation) {
      scripts.push(openScript(conversation, nameOf(conversation, scripts.length), nextId))
    },
    find(request, apiKey) {
      const opening = `${apiKey}\n${openingText(request)}`
      const fitting = scripts.filter((script) => script.fits(opening))
      const script = fitting.find((candidate) => candidate.remaining() > 0) ?? fitting.at(-1)
      if (!script) throw nobodys(opening)
      return script
    },
    remaining: () => scripts.map((script) => ({ name: script.name, turns: script.remaining() })),
  }
}

export function nameOf({ name }: Conversation, index: number): string {
  return name ?? `conversation ${index + 1}`
}

export function nobodys(opening: string): Violation {
  return new Violation(`no conversation fits this request, which opens with ${JSON.stringify(opening.slice(0, 300))}`)
}

/** Each fault of a turn hits one request. */
export function createFaults(): (turn: Turn) => Fault | undefined {
  const played = new Map<Turn, number>()
  return (turn) => {
    const count = played.get(turn) ?? 0
    played.set(turn, count + 1)
    return turn.faults?.[count]
  }
}

type OrderedScript = Script & { fits(opening: string): boolean; remaining(): number }

function openScript(conversation: Conversation, name: string, nextId: (prefix: string) => string): OrderedScript {
  const variables = new Map<string, string>()
  const cache = createPromptCache()
  const nextFault = createFaults()
  const turns = [...conversation.turns]
  let position = 0
  let before: ApiRequest | undefined

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
      if (!conversation.repeats) checkRepeats(request)
      const prompt = cache.read(request)
      checkExpectation(turn, request, { variables, prompt, where: `${name}, turn ${position + 1}` })
      return {
        turn,
        reply: resolveReply(turn, { request, prompt, variables, nextId }),
        fault: nextFault(turn),
        answered() {
          if (turns[position] === turn) position += 1
        },
      }
    },
  }
}
