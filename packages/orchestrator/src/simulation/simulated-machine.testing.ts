import { type DataStore, type EventStore, openJsonlEventStore } from '@matrix/event-store'
import { type SimulatedDisk, seededRandom, simulateDisk } from '@matrix/event-store/testing'
import type { SideEffect } from '@matrix/manifest'
import type { DurableEvent } from '@matrix/protocol'
import type { Frame } from '@matrix/protocol/http'
import { simulatedDisk, type SimulatedDisk as TreeDisk } from '@matrix/task-tree/testing'
import { openConfig } from '../config/config.ts'
import { openTrust } from '../config/trust.ts'
import type { Orchestrator } from '../operations.ts'
import { openOrchestrator } from '../orchestrator.ts'
import { openProjectRegistry } from '../project-registry.ts'
import type { SetupHost } from '../setup/setup-host.ts'
import type { AgentTools } from '../tool-host.ts'
import type { World } from '../world.ts'
import { type Mortal, never } from './mortal.testing.ts'
import { mortalStoreDisk, mortalTreeDisk, type StoreDisk } from './mortal-disk.testing.ts'
import { type Outside, openOutside, simulateWorktrees } from './outside.testing.ts'
import { MODEL, type Model, simulateProvider } from './simulated-model.testing.ts'
import { findParked, indexSessions, readSessions, type Sessions } from './simulated-sessions.testing.ts'
import { type PlantedSkill, simulateSkills } from './simulated-skills.testing.ts'
import { simulateGrant, simulateTools } from './simulated-tools.testing.ts'

/** Something that is wrong on purpose, to see that it is noticed. */
export type Planted = {
  store?: (store: EventStore) => EventStore
  disk?: (disk: StoreDisk) => StoreDisk
  treeDisk?: (disk: TreeDisk) => Pick<TreeDisk, keyof TreeDisk>
  worktrees?: (worktrees: ReturnType<typeof simulateWorktrees>) => ReturnType<typeof simulateWorktrees>
  tools?: (tools: AgentTools) => AgentTools
  /** The skills that lie in the home or the repository. */
  skills?: PlantedSkill[]
  /** What the agents of a project may do, by its name; all may do the same when left out. */
  rights?: Record<string, SideEffect[]>
}

export type MachineOptions = {
  seed: number
  model: Model
  planted?: Planted
  settings?: Record<string, unknown>
  /** Only the usual one has a known price. */
  modelName?: string
}

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
  /** Has everybody waited long enough for the approvals that are open. */
  expire(): void
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
  now(): number
  /** Sets the clock forward, or back. */
  jump(ms: number): void
}

const DATA = '/data'

const noSetup: SetupHost = {
  decisions: {
    read: async () => ({ choice: 'none', seen: null, decidedAt: new Date(0).toISOString() }),
    keep: async () => {},
  },
  findScript: async () => undefined,
  checkIdentity: async () => {},
  files: async () => ({ paths: [], read: async () => undefined, hasProgram: () => false }),
  proposeHosts: async () => [],
  sandbox: () => ({ isActive: false, reason: null }),
  run: async () => {},
}

/** A machine in memory: disks that forget, a clock that jumps, git, tools and a model, all driven by one seed. */
export function openMachine({ seed, model, planted = {}, settings = {}, modelName = MODEL }: MachineOptions): Machine {
  const random = seededRandom(seed)
  const disk = simulateDisk(seed)
  let treeDisk = simulatedDisk(seed + 1)
  const outside = openOutside()
  const files = new Map<string, string>([['/data/config.json', JSON.stringify(settings)]])
  const violations: string[] = []
  const seen = new Map<string, Map<number, string>>()
  const timers = new Set<{ at: number; callback: () => void }>()
  const background = new Map<string, () => void>()
  const expiries = new Set<AbortController>()
  const requests: Machine['requests'] = []
  const damaged = new Set<string>()
  const directories = new Map<string, string>()
  let life = 0
  let step = 0
  let now = Date.UTC(2026, 0, 2)
  let ids = 0
  let death: { at: number; how: 'kill' | 'power' } | undefined
  let onDeath: () => void = () => {}

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
      realPath: async (path) => path,
      list: async () => [],
    },
    env: () => undefined,
  })

  function newUlid(): string {
    ids += 1
    return `01JZZZZZZZZZZZZZZZZZZ${String(ids).padStart(5, '0')}`
  }

  function mortal(born: number): Mortal {
    const isAlive = () => born === life
    return {
      isAlive,
      isLast,
      die,
      async step(_name, act) {
        await pause()
        if (!isAlive()) return never()
        if (isLast()) {
          if (random.chance(0.5)) attempt(act)
          die()
          return never()
        }
        const result = act()
        await pause()
        return isAlive() ? result : never()
      },
    }
  }

  function directoryOf(projectId: string): string {
    const directory = directories.get(projectId) ?? (directories.size === 0 ? DATA : `${DATA}/${projectId}`)
    directories.set(projectId, directory)
    return directory
  }

  async function openStore(directory: string, self: Mortal, sessions: Sessions): Promise<DataStore> {
    const booted = disk.boot()
    const fileSystem = mortalStoreDisk(planted.disk?.(booted) ?? booted, self)
    const { clock } = world(life)
    const jsonl = await openJsonlEventStore(`${directory}/sessions`, { fileSystem, clock, onFatal: () => {} })
    const store = planted.store?.(jsonl) ?? jsonl
    const hasRoom = async () => (await fileSystem.freeBytes(directory)) > 4096
    const spend = () => new Promise<boolean>((resolve) => setImmediate(resolve, false))
    const reserve = { isHeld: () => false, spend, refill: async () => false, hasRoom }
    /** Here an archive is a file out of the way, which the index does not know. */
    const archiveSession: DataStore['archiveSession'] = (sessionId, fence) =>
      jsonl.withoutOwner(sessionId, fence, async ({ path }) => {
        const archive = `${directory}/archive/${sessionId}-${newUlid()}.jsonl`
        seen.delete(sessionId)
        await fileSystem.rename(path, archive)
        await fileSystem.syncDirectory(`${directory}/sessions`)
        return archive
      })
    return { ...store, archiveSession, reserve, index: indexSessions(sessions) } as unknown as DataStore
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

  /** Everything that is on the disk, of all projects. */
  async function readAll(): Promise<Map<string, DurableEvent[]>> {
    const all = new Map<string, DurableEvent[]>()
    for (const directory of new Set([DATA, ...directories.values()])) {
      const options = { fileSystem: disk.boot(), onFatal: () => {} }
      const log = await openJsonlEventStore(`${directory}/sessions`, options)
      for (const [sessionId, events] of await readSessions(log)) all.set(sessionId, events)
    }
    return all
  }

  /** Holds what clients were shown against what is there. */
  function checkPromises(sessions: Sessions): void {
    for (const [sessionId, promised] of seen) {
      // A test that damages a session has nothing to expect of it.
      if (damaged.has(sessionId)) continue
      const events = sessions.get(sessionId) ?? []
      for (const [seq, text] of promised)
        if (JSON.stringify(events[seq - 1]) !== text)
          violations.push(`I9: event ${seq} of ${sessionId} was shown and is gone: ${text.slice(0, 200)}`)
    }
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
      const file = disk.names().find((name) => name.endsWith(`/${sessionId}.jsonl`)) ?? ''
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
    modelCalls: () => requests.length,
    run(work, planned) {
      death = planned
      const dying = new Promise<'died'>((resolve) => {
        onDeath = () => resolve('died')
      })
      const done = work().then((result) => {
        death = undefined
        return result
      })
      return Promise.race([dying, done])
    },
    async boot() {
      const self = mortal(life)
      const born = life
      const sessions = await readAll()
      checkPromises(sessions)
      const parked = findParked(sessions)
      const mine = world(born)
      const trust = openTrust(mine, { dataDirectory: DATA })
      const adapter = simulateProvider(model, self, (request) => {
        requests.push(request)
        if (parked.has(request.sessionId))
          violations.push(`I12: a model was asked for ${request.sessionId}, which only waits`)
      })
      const plant = (tools: AgentTools) => planted.tools?.(tools) ?? tools
      const tools = simulateTools(self, { outside, now: () => now, background, expiries, plant })
      const orchestrator = await openOrchestrator({
        world: mine,
        trust,
        agents: { list: async () => [], propose: never, add: never },
        config: openConfig(mine, { dataDirectory: DATA, trust }),
        registry: await openProjectRegistry(mine, {
          dataDirectory: DATA,
          findRepository: async (path) => ({ root: path, gitDirectory: `${path}/.git`, firstCommit: '1' }),
        }),
        directoryOf,
        openStore: (directory) => openStore(directory, self, sessions),
        openWorktrees: async () => {
          const worktrees = simulateWorktrees(outside, self.step, () => now)
          return planted.worktrees?.(worktrees) ?? worktrees
        },
        findBaseBranch: async () => 'trunk',
        treeOptions() {
          const wrapped = mortalTreeDisk(treeDisk, self)
          const mortalDisk = (planted.treeDisk?.(wrapped) ?? wrapped) as TreeDisk
          return { disk: mortalDisk, now: () => new Date(now), newId: newUlid }
        },
        toolsOf: ({ name }) => ({ ...tools, grantOf: async () => simulateGrant(planted.rights?.[name]) }),
        setupOf: () => noSetup,
        skillFoldersOf: () => simulateSkills(planted.skills ?? []),
        promptsOf: () => ({ system: () => 'You are an agent.', header: ({ task }) => `Task: ${task.title}` }),
        routes: (now) => [{ adapter, model: now.model ?? modelName }],
        provider: () => ({ kind: 'mock', model: null }),
        sandbox: () => ({ isActive: false, reason: null }),
        isDemo: () => false,
        later: (work) => queueMicrotask(work),
        close: async () => {},
      })
      orchestrator.subscribe(watch(born, parked))
      return { orchestrator, settle: () => settle(born), isOver: () => !self.isAlive() }
    },
    readSession: async (sessionId) => (await readAll()).get(sessionId) ?? [],
    sessions: async () => [...(await readAll()).keys()],
    expire() {
      for (const expiry of expiries) expiry.abort()
    },
    now: () => now,
    jump(ms) {
      now += ms
    },
  }
}

function attempt(act: () => unknown): void {
  try {
    act()
  } catch {
    // Whoever would have been told is gone.
  }
}
