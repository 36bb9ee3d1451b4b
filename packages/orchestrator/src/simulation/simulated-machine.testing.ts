import {
  type DataStore,
  type EventStore,
  findPendingMessages,
  findResumeState,
  openJsonlEventStore,
} from '@matrix/event-store'
import { type SimulatedDisk, seededRandom, simulateDisk } from '@matrix/event-store/testing'
import type { DurableEvent } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'
import { createAnthropicAdapter, type ProviderAdapter } from '@matrix/provider-loop'
import { simulatedDisk, type SimulatedDisk as TreeDisk } from '@matrix/task-tree/testing'
import { openConfig } from '../config/config.ts'
import { openTrust } from '../config/trust.ts'
import type { Orchestrator } from '../operations.ts'
import { openOrchestrator } from '../orchestrator.ts'
import { openProjectRegistry } from '../project-registry.ts'
import type { AgentTools, ToolHost } from '../tool-host.ts'
import type { World } from '../world.ts'
import { type Outside, openOutside, simulateWorktrees } from './outside.testing.ts'

/** What a model answers; the request is the whole of what it knows. */
export type Model = (request: { sessionId: string; messages: ModelMessage[] }) => ModelAnswer
export type ModelMessage = { role: 'user' | 'assistant'; content: ModelBlock[] }
export type ModelBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; tool_use_id: string; content: { type: 'text'; text: string }[] }
export type ModelAnswer = { text?: string; calls?: { name: string; input?: Record<string, unknown> }[] }

/** Something that is wrong on purpose, to see that it is noticed. */
export type Planted = {
  store?: (store: EventStore) => EventStore
  disk?: (disk: ReturnType<SimulatedDisk['boot']>) => ReturnType<SimulatedDisk['boot']>
  treeDisk?: (disk: TreeDisk) => Pick<TreeDisk, keyof TreeDisk>
  worktrees?: (worktrees: ReturnType<typeof simulateWorktrees>) => ReturnType<typeof simulateWorktrees>
  tools?: (tools: AgentTools) => AgentTools
}

export type MachineOptions = { seed: number; model: Model; planted?: Planted; settings?: Record<string, unknown> }

export type Life = {
  orchestrator: Orchestrator
  /** Lets everything happen that can; time passes only when nothing else does. Never ends when the machine dies meanwhile. */
  settle(): Promise<void>
  isOver(): boolean
}

export type Machine = {
  outside: Outside
  /** What was wrong so far. */
  violations: string[]
  /** Every event that a client has seen, by session and seq. */
  seen: Map<string, Map<number, string>>
  /** Commands that were left running, by the task that started them; called, they end. */
  background: Map<string, () => void>
  disk: SimulatedDisk
  steps(): number
  modelCalls(): number
  /** The session and text of every request that was made to the model. */
  requests: { sessionId: string; text: string }[]
  /** Dies now. */
  die(how: 'kill' | 'power'): void
  /** Changes the file of a session behind everybody's back. */
  damage(sessionId: string, change: (text: string) => string): void
  /** Replaces the file of the tree. */
  writeTree(text: string | undefined): Promise<void>
  random: ReturnType<typeof seededRandom>
  /** Lets somebody work until they are done, or until the machine dies at the given step. */
  run<T>(work: () => Promise<T>, death?: { at: number; how: 'kill' | 'power' }): Promise<T | 'died'>
  boot(): Promise<Life>
  readSession(sessionId: string): Promise<DurableEvent[]>
  sessions(): Promise<string[]>
}

const DATA = '/data'
const MODEL = 'claude-sonnet-4-6'
/** Known beforehand: looking it up would read a real file. */
const pricing = { [MODEL]: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, contextWindow: 200_000 } }

/** A machine in memory: disks that forget, a clock that jumps, git, tools and a model, all driven by one seed. */
export function openMachine({ seed, model, planted = {}, settings = {} }: MachineOptions): Machine {
  const random = seededRandom(seed)
  const disk = simulateDisk(seed)
  let treeDisk = simulatedDisk(seed + 1)
  const outside = openOutside()
  const files = new Map<string, string>([['/data/config.json', JSON.stringify(settings)]])
  const violations: string[] = []
  const seen = new Map<string, Map<number, string>>()
  const timers = new Set<{ at: number; callback: () => void }>()
  const background = new Map<string, () => void>()
  const requests: Machine['requests'] = []
  const damaged = new Set<string>()
  let life = 0
  let step = 0
  let now = Date.UTC(2026, 0, 2)
  let ids = 0
  let modelCalls = 0
  let death: { at: number; how: 'kill' | 'power' } | undefined
  let onDeath: () => void = () => {}

  const never = <T>() => new Promise<T>(() => {})
  const pause = async () => {
    for (let ticks = random.int(6); ticks > 0; ticks -= 1) await undefined
  }

  function die(): void {
    const { how = 'kill' } = death ?? {}
    death = undefined
    life += 1
    timers.clear()
    disk.crashNow(how)
    treeDisk = treeDisk.restart(how === 'power' ? 'power' : 'process')
    onDeath()
  }

  /** Counts a step of the living. Answers whether this is the one at which the process dies. */
  function isLast(): boolean {
    step += 1
    now += 1
    return death !== undefined && step >= death.at
  }

  const world = (born: number): World => ({
    clock: {
      now: () => now,
      after(ms, callback) {
        const timer = { at: now + ms, callback }
        if (born === life) timers.add(timer)
        return () => timers.delete(timer)
      },
    },
    random: () => random.int(1_000_000) / 1_000_000,
    newId: newUlid,
    files: {
      read: async (path) => files.get(path),
      async write(path, text) {
        if (born !== life) return never()
        files.set(path, text)
      },
      isDirectory: async () => true,
    },
    env: () => undefined,
  })

  function newUlid(): string {
    ids += 1
    return `01JZZZZZZZZZZZZZZZZZZ${String(ids).padStart(5, '0')}`
  }

  const stepOf =
    (born: number) =>
    async <T>(_name: string, act: () => T): Promise<T> => {
      await pause()
      if (born !== life) return never<T>()
      if (isLast()) {
        if (random.chance(0.5)) attempt(act)
        die()
        return never<T>()
      }
      const result = act()
      await pause()
      return born === life ? result : never<T>()
    }

  /** The store's disk, each operation of which is one of the machine's steps. */
  function storeDisk(born: number): ReturnType<SimulatedDisk['boot']> {
    const booted = disk.boot()
    const fs = planted.disk?.(booted) ?? booted
    const counted =
      <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> => {
        if (born !== life) return never<R>()
        const last = isLast()
        const done = work(...args)
        if (last) die()
        return done
      }
    return {
      ...fs,
      rename: counted(fs.rename),
      remove: counted(fs.remove),
      syncDirectory: counted(fs.syncDirectory),
      open: async (path, mode) => {
        const file = await fs.open(path, mode)
        return { ...file, write: counted(file.write), sync: counted(file.sync), truncate: counted(file.truncate) }
      },
    }
  }

  function treeDiskOf(born: number): TreeDisk {
    const mine = treeDisk
    const counted =
      <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        if (born !== life) return never<R>()
        if (!isLast()) {
          const done = await work(...args)
          return born === life ? done : never<R>()
        }
        mine.dieAt(mine.steps + 1)
        await work(...args).catch(() => undefined)
        if (born === life) die()
        return never<R>()
      }
    const wrapped = {
      ...mine,
      rename: counted(mine.rename),
      remove: counted(mine.remove),
      syncDirectory: counted(mine.syncDirectory),
      async open(path: string, how: 'create' | 'update') {
        const file = await mine.open(path, how)
        return { ...file, write: counted(file.write), sync: counted(file.sync), truncate: counted(file.truncate) }
      },
    }
    return (planted.treeDisk?.(wrapped) ?? wrapped) as TreeDisk
  }

  async function openStore(born: number): Promise<DataStore> {
    const jsonl = await openJsonlEventStore(`${DATA}/sessions`, {
      fileSystem: storeDisk(born),
      clock: world(born).clock,
      onFatal: () => {},
    })
    const store = planted.store?.(jsonl) ?? jsonl
    const reserve = { isHeld: () => false, spend: async () => false, refill: async () => false }
    return { ...store, reserve, index: await indexOf(jsonl) } as unknown as DataStore
  }

  function adapterOf(born: number, parked: Set<string>): ProviderAdapter {
    const base = createAnthropicAdapter({ apiKey: 'none', baseUrl: 'http://unused.invalid', maxRetries: 0, pricing })
    return {
      ...base,
      supportsTokenCounting: false,
      async *callAPI(call) {
        modelCalls += 1
        requests.push({ sessionId: call.sessionId, text: `${Buffer.from(call.messages.closed)}${call.messages.open}` })
        if (parked.has(call.sessionId))
          violations.push(`I12: a model was asked for ${call.sessionId}, which only waits`)
        const { closed, open } = call.messages
        const messages: ModelMessage[] = JSON.parse(`[${Buffer.from(closed).toString('utf8')}${open}]`)
        const answer = await stepOf(born)('model', () => model({ sessionId: call.sessionId, messages }))
        if (call.signal.aborted) throw call.signal.reason
        const turns = messages.filter(({ role }) => role === 'assistant').length
        const calls = (answer.calls ?? []).map(({ name, input = {} }, index) => ({
          callId: `${call.sessionId.slice(-5)}-${turns}-${index}`,
          name,
          input,
        }))
        yield answer.text ?? ''
        return {
          text: answer.text ?? '',
          calls,
          model: call.model,
          usage: { inputTokens: 10, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 },
          stopReason: calls.length > 0 ? 'tool_use' : 'end_turn',
        }
      },
    }
  }

  function toolsOf(born: number): ToolHost {
    const stepping = stepOf(born)
    const open: ToolHost['open'] = async (request) => {
      const { taskId } = request
      const tools: AgentTools = {
        specs: async () => [bashSpec],
        async call(_name, input, { callId, signal }) {
          const command = String(input.command)
          if (command === 'hang')
            await new Promise((_, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
            )
          if (command.startsWith('ask')) {
            const answer = await request.approve(approvalOf(callId, command, now), { signal })
            if (answer.decision === 'deny') return { content: [{ type: 'text', text: 'denied' }], isError: true }
          }
          const text = await stepping('bash', () => {
            const [, path, words] = /^write (\S+) (.*)$/.exec(command) ?? []
            outside.effects.push({ taskId, callId })
            if (path && words) outside.worktrees.get(taskId)?.files.set(path, words)
            return `did: ${command}`
          })
          if (signal.aborted) throw signal.reason
          if (input.background !== true) return { content: [{ type: 'text', text }], isError: false }
          const process = { processId: 'p1', command }
          request.onBackgroundStart(callId, { ...process, read: async () => '', kill: async () => {} })
          background.set(taskId, () =>
            request.onBackgroundEnd(callId, { ...process, exitCode: 0, output: 'all green' }),
          )
          return { content: [{ type: 'text', text: 'Started in the background as p1.' }], isError: false }
        },
        isHeavy: () => true,
        view: async () => ({}) as never,
        park: async () => {},
        close: async () => {},
      }
      return planted.tools?.(tools) ?? tools
    }
    return { open, adopt: async () => {} }
  }

  function watch(born: number, parked: Set<string>): (frame: Frame) => void {
    return (frame) => {
      if (born !== life || frame.kind !== 'event') return
      const { taskId, seq, event } = frame
      if (event.type === 'message') parked.delete(taskId)
      const session = seen.get(taskId) ?? new Map<number, string>()
      const text = JSON.stringify(event)
      const before = session.get(seq)
      if (before !== undefined && before !== text)
        violations.push(`I9: event ${seq} of ${taskId} was shown twice, unlike`)
      seen.set(taskId, session.set(seq, text))
    }
  }

  async function settle(born: number): Promise<void> {
    for (let quiet = 0; ; ) {
      const before = step
      await new Promise((resolve) => setImmediate(resolve))
      if (born !== life) return never()
      quiet = step === before ? quiet + 1 : 0
      if (quiet < 3) continue
      const [next] = [...timers].sort((a, b) => a.at - b.at)
      if (!next) return
      timers.delete(next)
      now = Math.max(now, next.at)
      next.callback()
      quiet = 0
    }
  }

  const openLog = () => openJsonlEventStore(`${DATA}/sessions`, { fileSystem: disk.boot(), onFatal: () => {} })

  /** Holds what clients were shown against what is there, and answers which sessions only wait. */
  async function checkPromises(log: EventStore): Promise<Set<string>> {
    const parked = new Set<string>()
    for (const sessionId of new Set([...seen.keys(), ...(await log.listSessions())])) {
      // A test that damages a session has nothing to expect of it.
      if (damaged.has(sessionId)) continue
      const promised = seen.get(sessionId) ?? new Map<number, string>()
      const events: DurableEvent[] = []
      for await (const batch of log.read(sessionId)) for (const { event } of batch) events.push(event as DurableEvent)
      for (const [seq, text] of promised)
        if (JSON.stringify(events[seq - 1]) !== text)
          violations.push(`I9: event ${seq} of ${sessionId} was shown and is gone: ${text.slice(0, 200)}`)
      if (findResumeState(events) === 'yielding' && findPendingMessages(events).length === 0) parked.add(sessionId)
    }
    return parked
  }

  return {
    outside,
    violations,
    seen,
    random,
    background,
    requests,
    disk,
    die(how) {
      death = { at: 0, how }
      die()
    },
    damage(sessionId, change) {
      const file = `${DATA}/sessions/${sessionId}.jsonl`
      damaged.add(sessionId)
      disk.writeNow(file, Buffer.from(change(Buffer.from(disk.readNow(file) ?? []).toString('utf8'))))
    },
    async writeTree(text) {
      const file = `${DATA}/tree.json`
      if (text === undefined) return treeDisk.remove(file)
      const open = await treeDisk.open(file, 'create')
      await open.write(Buffer.from(text), 0)
    },
    steps: () => step,
    modelCalls: () => modelCalls,
    run(work, planned) {
      death = planned
      const dying = new Promise<'died'>((resolve) => {
        onDeath = () => resolve('died')
      })
      return Promise.race([dying, work()])
    },
    async boot() {
      const born = life
      const parked = await checkPromises(await openLog())
      const mine = world(born)
      const trust = openTrust(mine, { dataDirectory: DATA })
      const adapter = adapterOf(born, parked)
      const orchestrator = await openOrchestrator({
        world: mine,
        trust,
        config: openConfig(mine, { dataDirectory: DATA, trust }),
        registry: await openProjectRegistry(mine, {
          dataDirectory: DATA,
          findRepository: async (path) => ({ root: path, gitDirectory: `${path}/.git`, firstCommit: '1' }),
        }),
        directoryOf: () => DATA,
        openStore: () => openStore(born),
        openWorktrees: async () => {
          const worktrees = simulateWorktrees(outside, stepOf(born), () => now)
          return planted.worktrees?.(worktrees) ?? worktrees
        },
        findBaseBranch: async () => 'trunk',
        treeOptions: () => ({ disk: treeDiskOf(born), now: () => new Date(now), newId: newUlid }),
        toolsOf: () => toolsOf(born),
        promptsOf: () => ({ system: () => 'You are an agent.', header: ({ task }) => `Task: ${task.title}` }),
        routes: () => [{ adapter, model: MODEL }],
        provider: () => ({ kind: 'mock', model: null }),
        sandbox: () => ({ isActive: false, reason: null }),
        isDemo: () => false,
        later: (work) => queueMicrotask(work),
        close: async () => {},
      })
      orchestrator.subscribe(watch(born, parked))
      return { orchestrator, settle: () => settle(born), isOver: () => born !== life }
    },
    async readSession(sessionId) {
      const log = await openLog()
      const events: DurableEvent[] = []
      for await (const batch of log.read(sessionId)) events.push(...batch.map(({ event }) => event as DurableEvent))
      return events
    },
    sessions: async () => (await openLog()).listSessions(),
  }
}

function approvalOf(id: string, command: string, now: number) {
  return {
    id,
    agent: 'solo',
    uri: 'matrix://tool/mcp/mxd/bash@1',
    side_effect_class: 'shell' as const,
    input: { command },
    inputDigest: `digest of ${command}`,
    reason: 'It asks.',
    expiresAt: now + 60_000,
  }
}

function attempt(act: () => unknown): void {
  try {
    act()
  } catch {
    // Whoever would have been told is gone.
  }
}

const bashSpec = {
  name: 'mcp__mxd__bash',
  description: 'Runs a command.',
  inputSchema: { type: 'object', properties: { command: { type: 'string' } } },
}

/** What the index would say: here it is read from the sessions. */
async function indexOf(jsonl: EventStore): Promise<Pick<DataStore['index'], 'findSession' | 'costs' | 'sessions'>> {
  const found = new Map<string, { lastSeq: number; lastAt: string | undefined; usd: Map<string, number> }>()
  for (const sessionId of await jsonl.listSessions()) {
    const summary = { lastSeq: 0, lastAt: undefined as string | undefined, usd: new Map<string, number>() }
    try {
      for await (const batch of jsonl.read(sessionId))
        for (const { seq, event } of batch as { seq: number; event: DurableEvent }[]) {
          summary.lastSeq = seq
          summary.lastAt = event.ts
          if (event.type === 'turn_completed')
            summary.usd.set(event.taskId, (summary.usd.get(event.taskId) ?? 0) + event.costUsd)
        }
    } catch {
      // A damaged session is known as far as it can be read.
    }
    if (summary.lastSeq > 0) found.set(sessionId, summary)
  }
  return {
    sessions: () => [],
    findSession: (sessionId) => {
      const known = found.get(sessionId)
      return known && ({ sessionId, lastSeq: known.lastSeq, lastAt: known.lastAt, archive: undefined } as never)
    },
    costs: () =>
      [...found].flatMap(([session, { usd }]) => [...usd].map(([task, sum]) => ({ task, session, usd: sum }) as never)),
  }
}
