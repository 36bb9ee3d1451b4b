import { findPendingMessages, findResumeState } from '@matrix/event-store'
import { checkRequest } from '@matrix/mock-provider'
import { builtinTools, type DurableEvent, loopTools, orchestratorTools } from '@matrix/protocol'
import { interruptedText } from '@matrix/provider-loop'
import { type Life, type Machine, openMachine, type Planted } from './simulated-machine.testing.ts'
import type { Model, ModelBlock, ModelMessage } from './simulated-model.testing.ts'

export type StoryPlan = {
  seed: number
  /** Deaths in turn, each so many steps after the life before it began; the clock may be another one after it. */
  deaths: { after: number; how: 'kill' | 'power'; clockMs?: number }[]
  planted?: Planted
}

export type StoryOutcome = { violations: string[]; deaths: number; steps: number; files: string[] }

const MAX_DEATHS = 12
const DAY_MS = 24 * 3600 * 1000
/** About as many as a story without a death has. */
const STEPS = 243
const goal = 'Have two parts written.'

/**
 * Plays a story of three agents through every planned death, and holds what is left against what must always be true. A person
 * says things in between, stops the root and lets it go on, and answers a question; what got no answer is said again.
 */
export async function playStory({ seed, deaths, planted }: StoryPlan): Promise<StoryOutcome> {
  const machine = openMachine({ seed, model: createModel(), ...(planted && { planted }) })
  const person = createPerson(machine)
  let died = 0
  for (const death of [...deaths, undefined]) {
    const planned = death && { at: machine.steps() + death.after, how: death.how }
    const end = await machine.run(() => live(machine, person), planned)
    if (end !== 'died') break
    died += 1
    machine.jump(death?.clockMs ?? 0)
  }
  const violations = [...machine.violations, ...(await findViolations(machine, person))]
  const root = [...machine.outside.branches].find(([name]) => name !== 'trunk')?.[1]
  return { violations, deaths: died, steps: machine.steps(), files: [...(root?.files.keys() ?? [])].sort() }
}

async function live(machine: Machine, person: Person): Promise<'ended' | 'stuck'> {
  const life = await machine.boot()
  const { orchestrator } = life
  const resumed = await orchestrator.resume()
  for (const problem of resumed.problems) machine.violations.push(`I5: ${problem}`)
  const [known] = await orchestrator.listProjects({ params: {}, query: {}, body: undefined })
  const project = known ?? (await orchestrator.registerProject({ params: {}, query: {}, body: { path: '/shop' } }))
  if (project.problem) machine.violations.push(`I5: ${project.problem.message}`)
  person.begin(life, project.id, project.rootTaskId ?? '')
  for (let rounds = 0; rounds < 40; rounds += 1) {
    await life.settle()
    if (!(await person.act())) break
  }
  const tasks = await orchestrator.listTasks({ params: { projectId: project.id }, query: {}, body: undefined })
  const isEnded = tasks[0]?.status === 'passed'
  if (!isEnded)
    machine.violations.push(
      `I8: stuck: ${tasks.map(({ title, status, activity, problem }) => `${title} ${status} ${activity} ${problem?.message ?? ''}`).join(', ')}`,
    )
  for (const { title, status, id, costUsd } of tasks) person.ended.set(id, { title, status, costUsd })
  await orchestrator.close()
  return isEnded ? 'ended' : 'stuck'
}

type Person = {
  /** Requests that were answered with yes. */
  acknowledged: { taskId: string; messageId: string }[]
  ended: Map<string, { title: string; status: string; costUsd: number }>
  begin(life: Life, projectId: string, rootId: string): void
  /** Does the next thing; answers whether there was one. */
  act(): Promise<boolean>
}

/** Someone who repeats what was not acknowledged, with the same words and the same request. */
function createPerson(machine: Machine): Person {
  const acknowledged: Person['acknowledged'] = []
  const isDone = new Set<string>()
  const ended: Person['ended'] = new Map()
  let now: { life: Life; projectId: string; rootId: string } | undefined

  async function say(request: string, text: string, taskId: string): Promise<void> {
    if (!now || isDone.has(request)) return
    const { life, projectId } = now
    const params = { projectId, taskId }
    const body = { text, requestId: request }
    const answer = await life.orchestrator.sendMessage({ params, query: {}, body }).catch(() => undefined)
    isDone.add(request)
    if (answer) acknowledged.push({ taskId, messageId: answer.messageId })
  }

  async function stopAndGo(): Promise<boolean> {
    if (!now || isDone.has('go')) return false
    const { projectId, rootId, life } = now
    const request = { params: { projectId, taskId: rootId }, query: {}, body: undefined }
    if (!isDone.has('stop')) {
      const { stopped } = await life.orchestrator.stopAgent(request)
      isDone.add('stop')
      if (stopped.length === 0) isDone.add('go')
      return true
    }
    const root = await life.orchestrator.getTask(request)
    // What was stopped stays so, whatever happened since.
    if (root.activity !== 'stopped') machine.violations.push(`a stopped task is ${root.activity}`)
    await life.orchestrator.resumeAgent(request)
    isDone.add('go')
    return true
  }

  async function answerQuestions(): Promise<boolean> {
    if (!now) return false
    const open = await now.life.orchestrator.listAttention({ params: {}, query: {}, body: undefined })
    const questions = open.filter(({ kind }) => kind === 'question')
    for (const { id, projectId } of questions)
      await now.life.orchestrator
        .answerQuestion({ params: { projectId, questionId: id }, query: {}, body: { answer: 'blue' } })
        .catch(() => undefined)
    return questions.length > 0
  }

  return {
    acknowledged,
    ended,
    begin(life, projectId, rootId) {
      now = { life, projectId, rootId }
      // Whoever cannot know whether they were heard says it again.
      isDone.delete('goal')
      void say('goal', goal, rootId)
      // Somebody who talks while others work.
      void (async () => {
        for (let wait = machine.random.int(400); wait > 0; wait -= 1) await undefined
        await say('more', 'How is it going?', rootId)
      })()
    },
    async act() {
      if (!now) return false
      if (await answerQuestions()) return true
      if (await stopAndGo()) return true
      return false
    },
  }
}

/** Three roles, each of which decides by the conversation alone what comes next. Every request is held against the one before. */
function createModel(): Model {
  const before = new Map<string, ReturnType<typeof checkRequest>>()
  return ({ sessionId, messages }) => {
    const body = { model: 'm', max_tokens: 1, messages, tools: [] }
    before.set(sessionId, checkRequest('anthropic', body, before.get(sessionId)))
    const said = readConversation(messages)
    if (said.opening.includes('Task: Red')) return worker(said, 'Red')
    if (said.opening.includes('Task: Blue')) return worker(said, 'Blue')
    return root(said)
  }
}

export type Said = {
  opening: string
  heard: string
  calls: { name: string; input: Record<string, unknown>; result: string }[]
  last: string
}

/** A conversation as a scripted model looks at it. */
export function readConversation(messages: ModelMessage[]): Said {
  const blocks = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content } as ModelBlock] : content,
  )
  const results = new Map(
    blocks.flatMap((block) =>
      block.type === 'tool_result' ? [[block.tool_use_id, textOf(block.content)] as const] : [],
    ),
  )
  const texts = messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
    )
  return {
    opening: texts[0] ?? '',
    heard: texts.join('\n'),
    last: texts.at(-1) ?? '',
    calls: blocks.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, input: block.input, result: results.get(block.id) ?? '' }] : [],
    ),
  }
}

function textOf(content: string | { type: string; text?: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n')
}

const wait = { calls: [{ name: loopTools.yield }] }
const parts = ['Red', 'Blue'] as const

function root({ calls, heard }: Said): ReturnType<Model> {
  const idOf = (title: string) =>
    calls.map(({ result }) => new RegExp(`Created task (\\w+) "${title}"`).exec(result)?.[1]).find(Boolean) ?? ''
  const has = (name: string, taskId: string, pattern: RegExp) =>
    calls.some((call) => call.name === name && call.input.taskId === taskId && pattern.test(call.result))
  if (!idOf('Blue'))
    return {
      calls: parts.map((title) => ({
        name: orchestratorTools.createTask,
        input: { title, description: `Write ${title}.` },
      })),
    }
  const unsent = parts.filter((part) => !has(orchestratorTools.sendMessage, idOf(part), /Sent/))
  if (unsent.length > 0)
    return {
      calls: unsent.map((part) => ({
        name: orchestratorTools.sendMessage,
        input: { taskId: idOf(part), content: 'Go.' },
      })),
    }
  if (!parts.every((part) => heard.includes(`"${part}" passed`))) return wait
  const unmerged = parts.filter((part) => !has(orchestratorTools.mergeTask, idOf(part), /Merged as/))
  if (unmerged.length > 0)
    return { calls: unmerged.map((part) => ({ name: orchestratorTools.mergeTask, input: { taskId: idOf(part) } })) }
  const open = parts.filter((part) => !has(orchestratorTools.closeTask, idOf(part), /is closed/))
  if (open.length > 0)
    return { calls: open.map((part) => ({ name: orchestratorTools.closeTask, input: { taskId: idOf(part) } })) }
  return { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Both are in.' } }] }
}

function worker({ calls, heard }: Said, title: string): ReturnType<Model> {
  const did = (pattern: RegExp) => calls.some(({ result }) => pattern.test(result))
  if (!did(/did: mark/))
    return { text: 'First a mark.', calls: [{ name: builtinTools.bash, input: { command: 'mark' } }] }
  if (title === 'Blue' && !heard.includes('Answer to your question'))
    return { calls: [{ name: loopTools.clarify, input: { question: 'Which blue?' } }] }
  if (!did(/did: write/))
    return { calls: [{ name: builtinTools.bash, input: { command: `write ${title}.txt ${title}` } }] }
  if (!did(/Committed/)) return { calls: [{ name: orchestratorTools.commit, input: { message: `feat: ${title}` } }] }
  return { calls: [{ name: loopTools.done, input: { status: 'passed', summary: `${title} is written.` } }] }
}

/** What must be true when everything has come to rest. */
async function findViolations(machine: Machine, person: Person): Promise<string[]> {
  const found: string[] = []
  const stored = new Map<string, DurableEvent[]>()
  for (const sessionId of await machine.sessions()) stored.set(sessionId, await machine.readSession(sessionId))

  for (const [sessionId, events] of stored) {
    const title = person.ended.get(sessionId)?.title ?? sessionId
    const messages = events.flatMap((event) => (event.type === 'message' ? [event.message.id] : []))
    const consumed = events.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : []))
    found.push(
      ...doubles(messages).map((id) => `I1: ${title} has message ${id} twice`),
      ...doubles(consumed).map((id) => `I1: ${title} consumed message ${id} twice`),
      ...findPendingMessages(events).map(({ id }) => `I8: ${title} never read ${id}`),
      ...consumed
        .filter((id) => !messages.includes(id))
        .map((id) => `I1: ${title} consumed ${id}, which was never stored`),
    )
    const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event] : []))
    const results = events.flatMap((event) => (event.type === 'tool_result' ? [event] : []))
    found.push(
      ...doubles(calls.map(({ callId }) => callId)).map((id) => `I4: ${title} has call ${id} twice`),
      ...doubles(results.map(({ callId }) => callId)).map((id) => `I4: ${title} has two results for ${id}`),
      ...calls
        .filter(({ callId }) => !results.some((result) => result.callId === callId))
        .map(({ callId }) => `I4: ${title} has no result for ${callId}`),
    )
    for (const { callId, name } of calls.filter(({ name }) => name === builtinTools.bash)) {
      const times = machine.outside.effects.filter(
        (effect) => effect.taskId === sessionId && effect.callId === callId,
      ).length
      const result = results.find((each) => each.callId === callId)
      const isKnown =
        result && !textOf(result.content as never).includes(interruptedText.slice(0, 30)) && !result.isError
      if (times > 1) found.push(`I2: ${title} ran ${name} ${callId} ${times} times`)
      if (isKnown && times !== 1) found.push(`I2: ${title} was told of ${callId}, which ran ${times} times`)
    }
    const spent = events.reduce((sum, event) => sum + (event.type === 'turn_completed' ? event.costUsd : 0), 0)
    const shown = person.ended.get(sessionId)
    if (shown && Math.abs(shown.costUsd - spent) > 1e-9)
      found.push(`I6: ${title} cost ${spent}, shown as ${shown.costUsd}`)
    const isDone = findResumeState(events) === 'done'
    if (shown && isDone !== ['passed', 'failed', 'closed'].includes(shown.status))
      found.push(`I5: ${title} is ${shown.status}, and its session says ${findResumeState(events)}`)
    if (shown && (shown.status === 'closed') === machine.outside.worktrees.has(sessionId))
      found.push(
        `I5: ${title} is ${shown.status}, and its worktree is ${machine.outside.worktrees.has(sessionId) ? 'there' : 'gone'}`,
      )
  }
  for (const { taskId, callId } of machine.outside.effects)
    if (!stored.get(taskId)?.some((event) => event.type === 'tool_call' && event.callId === callId))
      found.push(`I2: call ${callId} ran and was never stored`)
  for (const { taskId, messageId } of person.acknowledged)
    if (!stored.get(taskId)?.some((event) => event.type === 'message' && event.message.id === messageId))
      found.push(`I1: message ${messageId} was acknowledged and is gone`)
  return found
}

function doubles(ids: string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}

/** So many deaths, a few in each story: anywhere in it, by kill or power cut, also while the one before is recovered from, and with a clock that jumps. */
export function* planDeaths(points: number, firstSeed: number): Generator<StoryPlan> {
  for (let seed = firstSeed; points > 0; seed += 1) {
    const random = randomOf(seed)
    const count = 1 + Math.floor(random() * MAX_DEATHS)
    const deaths = Array.from({ length: count }, () => ({
      after: 1 + Math.floor(random() * (STEPS / count) * 1.5),
      how: random() < 0.5 ? ('kill' as const) : ('power' as const),
      clockMs: random() < 0.3 ? Math.round((random() - 0.5) * 2 * DAY_MS) : 0,
    }))
    points -= count
    yield { seed, deaths }
  }
}

function randomOf(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state = (state ^ (state << 5)) >>> 0
    return state / 2 ** 32
  }
}
