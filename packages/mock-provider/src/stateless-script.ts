import { createHash } from 'node:crypto'
import { type ApiRequest, joinText, openingText, Violation } from './api-request.ts'
import { type Exchange, readExchanges } from './exchange.ts'
import { checkExpectation } from './expectation.ts'
import type { Aside, Conversation, Playbook, ScriptedCall, Turn } from './playbook.ts'
import { checkPrefix } from './prefix.ts'
import { createPromptCache, type PromptUsage } from './prompt-cache.ts'
import { checkRepeats } from './repeats.ts'
import { type Cast, type Cue, createFaults, nameOf, nobodys } from './script.ts'
import { formatPlace, readPlace } from './story-place.ts'
import { matchesText } from './text-pattern.ts'
import { resolveReply } from './turn-reply.ts'

/** A conversation, and what a mock may forget of how it was played. */
type Role = {
  name: string
  conversation: Conversation
  asides: Aside[]
  otherwise: Aside[]
  played: Set<number>
  before: Map<string, ApiRequest>
}

/** Where in a request a role begins to be played, and with which turn. */
type Start = { role: Role; exchange: number; turn: number; variables: Map<string, string> }

/** What a request gets: a turn of the script, or an aside that leaves the script where it is. */
type Choice = { turn: Turn; position: number; aside?: Aside; problem?: Violation }

/** Plays every request by what stands in it, and remembers nothing that an answer depends on. */
export function createStatelessCast({ asides = [], otherwise = [] }: Pick<Playbook, 'asides' | 'otherwise'>): Cast {
  const roles: Role[] = []
  const cache = createPromptCache()
  const nextFault = createFaults()

  function cue(start: Start, exchanges: Exchange[], request: ApiRequest): Cue {
    const { role, variables } = start
    checkHistory(role, exchanges[start.exchange], request)
    if (!role.conversation.repeats) checkRepeats(request)
    const prompt = cache.read(request)
    const { turn, position, aside, problem } = choose(start, exchanges, request, prompt)
    if (problem) throw problem
    for (let earlier = 0; earlier < Math.min(position, role.conversation.turns.length); earlier += 1)
      role.played.add(earlier)
    variables.set('place', formatPlace({ name: role.name, turn: aside ? position : position + 1, variables }))
    return {
      turn,
      reply: resolveReply(turn, { request, prompt, variables, nextId: createIds(role, request) }),
      fault: nextFault(aside ?? turn),
      answered() {
        if (!aside) role.played.add(position)
      },
    }
  }

  return {
    add(conversation) {
      roles.push({
        name: nameOf(conversation, roles.length),
        conversation,
        asides: [...(conversation.asides ?? []), ...asides],
        otherwise: [...(conversation.otherwise ?? []), ...otherwise],
        played: new Set(),
        before: new Map(),
      })
    },
    find(request, apiKey) {
      const exchanges = readExchanges(request.blocks)
      const start = findFork(roles, exchanges) ?? findOpening(roles, request, apiKey)
      return { name: start.role.name, cue: () => cue(start, exchanges, request) }
    },
    remaining: () => roles.map((role) => ({ name: role.name, turns: remainingOf(role) })),
  }
}

/** The last place where an agent was told that it is now another one. */
function findFork(roles: Role[], exchanges: Exchange[]): Start | undefined {
  for (const [exchange, { said }] of [...exchanges.entries()].reverse()) {
    const role = roles.find(({ conversation: { forkedAt } }) => forkedAt && matchesText(forkedAt, joinText(said)))
    if (role) return { role, exchange, turn: 0, variables: new Map() }
  }
  return undefined
}

function findOpening(roles: Role[], request: ApiRequest, apiKey: string): Start {
  const opening = `${apiKey}\n${openingText(request)}`
  const place = readPlace(opening)
  const named = place && roles.find(({ name }) => name === place.name)
  if (named) return { role: named, exchange: 0, turn: place.turn, variables: place.variables }
  const role = roles.find(({ conversation: { match, forkedAt } }) =>
    match === undefined ? forkedAt === undefined : matchesText(match, opening),
  )
  if (!role) throw nobodys(opening)
  return { role, exchange: 0, turn: 0, variables: new Map() }
}

/** Goes through the request as it came about, so that every exchange finds the turn that it found then. */
function choose(
  { role, exchange: first, turn: from, variables }: Start,
  exchanges: Exchange[],
  request: ApiRequest,
  prompt: PromptUsage,
): Choice {
  let position = from
  for (let index = first; ; index += 1) {
    const due = { role, position, exchanges: exchanges.slice(0, index + 1), variables }
    if (index === exchanges.length - 1) return chooseOne(due, request, prompt)
    const choice = chooseOne(due, until(request, due.exchanges))
    if (!choice.aside) position += 1
  }
}

type Due = { role: Role; position: number; exchanges: Exchange[]; variables: Map<string, string> }

function chooseOne({ role, position, exchanges, variables }: Due, request: ApiRequest, prompt?: PromptUsage): Choice {
  const said = joinText(exchanges.at(-1)?.said ?? [])
  const fits = ({ when }: Aside) => when === undefined || matchesText(when, said, variables)
  const toChoice = (aside: Aside): Choice => ({ turn: toTurn(aside, exchanges), position, aside })
  const aside = role.asides.find(fits)
  if (aside) return toChoice(aside)

  const turn = turnAt(role.conversation, position)
  const problem = turn
    ? findProblem(turn, request, { variables, where: `${role.name}, turn ${position + 1}`, ...(prompt && { prompt }) })
    : new Violation(
        `${role.name}: a request too many, all ${role.conversation.turns.length} scripted turns were played`,
      )
  const other = problem && role.otherwise.find(fits)
  if (other) return toChoice(other)
  return { turn: turn ?? {}, position, ...(problem && { problem }) }
}

function turnAt({ turns, repeat }: Conversation, position: number): Turn | undefined {
  return turns[repeat ? position % turns.length : position]
}

/** What a turn captures counts only if the turn is the one that is played. */
function findProblem(
  turn: Turn,
  request: ApiRequest,
  { variables, ...more }: Parameters<typeof checkExpectation>[2],
): Violation | undefined {
  const captured = new Map(variables)
  try {
    checkExpectation(turn, request, { ...more, variables: captured })
    for (const [name, value] of captured) variables.set(name, value)
    return undefined
  } catch (error) {
    if (error instanceof Violation) return error
    throw error
  }
}

/** The request as it was when the last of these exchanges had no answer yet. */
function until(request: ApiRequest, exchanges: Exchange[]): ApiRequest {
  const answer = exchanges.at(-1)?.answer.length ?? 0
  const count = exchanges.reduce((sum, exchange) => sum + exchange.said.length + exchange.answer.length, 0)
  return { ...request, blocks: request.blocks.slice(0, count - answer) }
}

function toTurn({ when, again, ...turn }: Aside, exchanges: Exchange[]): Turn {
  if (!again) return turn
  const results = exchanges.at(-1)?.said.filter(({ kind }) => kind === 'tool_result') ?? []
  const wanted = new Set(
    results.flatMap(({ callId, text }) => (when === undefined || matchesText(when, text) ? [callId] : [])),
  )
  const calls = (exchanges.at(-2)?.answer ?? []).flatMap(({ callId, toolName, text }): ScriptedCall[] =>
    toolName !== undefined && wanted.has(callId) ? [{ name: toolName, rawInput: text }] : [],
  )
  return { ...turn, toolCalls: [...(turn.toolCalls ?? []), ...calls] }
}

const rememberedAgents = 1000

/** Compares with what the same agent sent before; one that was restarted may ask again what it asked already. */
function checkHistory({ before }: Role, opening: Exchange | undefined, request: ApiRequest): void {
  const key = JSON.stringify(opening?.said.map(({ bytes }) => bytes))
  const known = before.get(key)
  const [shorter, longer] = known && known.blocks.length > request.blocks.length ? [request, known] : [known, request]
  if (shorter) checkPrefix(shorter, longer)
  // The latest stays last: a mock that runs for days forgets the agents it has not heard from the longest.
  before.delete(key)
  before.set(key, longer)
  const [oldest] = before.keys()
  if (before.size > rememberedAgents && oldest !== undefined) before.delete(oldest)
}

/** Ids that are the same for the same request, and no other. */
function createIds({ name }: Role, { preamble, blocks }: ApiRequest): (prefix: string) => string {
  const hash = createHash('sha256').update(name).update(preamble)
  for (const { bytes } of blocks) hash.update(bytes)
  const stem = hash.digest('hex').slice(0, 20)
  let count = 0
  return (prefix) => `${prefix}_${stem}${++count}`
}

function remainingOf({ conversation: { repeat, turns }, played }: Role): number {
  return repeat ? 0 : turns.length - played.size
}
