import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DurableEvent, loopTools, queueMessage } from '@matrix/protocol'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from './clock.ts'
import { type FileSystem, nodeFileSystem } from './file-system.ts'
import { type DataStore, type OpenOptions, openEventStore } from './open-event-store.ts'
import type { IndexProgress } from './session-index.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'event-store-index-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

test('what was said is found with its words marked, newest first', async () => {
  const store = await open()
  await append(store, 'a', said('The login page is broken'), said('Nothing here'))
  await append(store, 'b', asked('Who broke the LOGIN?'))
  await store.index.catchUp()

  const { hits, complete } = await store.index.search('login')
  expect(hits).toMatchObject([
    { sessionId: 'b', seq: 1, type: 'message' },
    { sessionId: 'a', seq: 1, type: 'assistant_text' },
  ])
  expect(hits.map(({ snippet }) => snippet.marks.map(([from, to]) => snippet.text.slice(from, to)))).toEqual([
    ['LOGIN'],
    ['login'],
  ])
  expect(complete).toBe(true)
})

test('appends are found without asking for it', async () => {
  const store = await open()
  await append(store, 'a', said('needle'))

  await expect.poll(async () => (await store.index.search('needle')).hits.length, { timeout: 30_000 }).toBe(1)
})

test('while sessions grow all the time, they are read in from time to time and not without a pause', async () => {
  const pauses: number[] = []
  let now = 0
  const clock: Clock = {
    now() {
      now += 100
      return now
    },
    after(ms, callback) {
      pauses.push(ms)
      return systemClock.after(1, callback)
    },
  }
  const store = await open({ clock })
  const hasPaused = () => pauses.some((ms) => ms >= 900)
  let count = 0
  for (; !hasPaused(); count += 1) await append(store, `s${count % 20}`, said(`needle ${count}`))
  await store.index.catchUp()

  expect((await store.index.search('needle', { limit: count + 1 })).hits).toHaveLength(count)
})

test('once everybody has fallen silent, what they said is found without waiting for the pause to end', async () => {
  let now = 0
  let due: { at: number; callback(): void }[] = []
  const pass = (ms: number) => {
    now += ms
    const ready = due.filter(({ at }) => at <= now)
    due = due.filter(({ at }) => at > now)
    for (const { callback } of ready) callback()
  }
  const clock: Clock = {
    now: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, callback }
      due.push(timer)
      return () => {
        due = due.filter((other) => other !== timer)
      }
    },
  }
  let isReading = false
  let letRead = () => {}
  const mayRead = new Promise<void>((resolve) => {
    letRead = resolve
  })
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    async open(path, mode) {
      isReading = mode === 'read' && path.endsWith('a.jsonl')
      if (isReading) await mayRead
      return nodeFileSystem.open(path, mode)
    },
  }
  const store = await open({ clock, fileSystem })
  const find = async (text: string) => (await store.index.search(text)).hits.length
  await append(store, 'a', said('first'))
  pass(300)
  await expect.poll(() => isReading).toBe(true)
  // It takes a second to read in the first, and meanwhile somebody else has spoken.
  await append(store, 'b', said('second'))
  now += 1000
  letRead()
  await expect.poll(() => find('first'), { timeout: 30_000 }).toBe(1)
  await expect.poll(() => due.length).toBe(1)
  expect(await find('second')).toBe(0)

  pass(1000)
  await expect.poll(() => find('second'), { timeout: 30_000 }).toBe(1)
})

test('what is new in a session is read once, for its summary and for a search', async () => {
  let opened = 0
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    open(path, mode) {
      if (mode === 'read') opened += 1
      return nodeFileSystem.open(path, mode)
    },
  }
  const store = await open({ fileSystem })
  await append(store, 'a', said('first needle'))
  await store.index.catchUp()
  await append(store, 'a', said('second needle'), called('c1', {}))
  opened = 0
  await store.index.catchUp()

  expect(opened).toBe(1)
  expect((await store.index.search('needle')).hits.map(({ seq }) => seq)).toEqual([2, 1])
  expect(store.index.findSession('a')).toMatchObject({ lastSeq: 3, status: 'interrupted' })
})

test('what tools were given and answered is found too, and filters narrow it', async () => {
  const store = await open()
  await append(
    store,
    'a',
    called('c1', { command: 'grep needle' }),
    answered('c1', 'a needle'),
    said('needle', '2026-03-01T00:00:00.000Z'),
  )
  await append(store, 'b', { ...said('needle'), taskId: 'other' })
  await store.index.catchUp()
  const find = async (filter: object) =>
    (await store.index.search('needle', filter)).hits.map(({ sessionId, seq }) => `${sessionId}${seq}`)

  expect(await find({})).toEqual(['b1', 'a3', 'a2', 'a1'])
  expect(await find({ sessionId: 'a' })).toEqual(['a3', 'a2', 'a1'])
  expect(await find({ taskId: 'other' })).toEqual(['b1'])
  expect(await find({ types: ['tool_call', 'tool_result'] })).toEqual(['a2', 'a1'])
  expect(await find({ since: '2026-02-01T00:00:00.000Z' })).toEqual(['a3'])
  expect(await find({ until: '2026-02-01T00:00:00.000Z', sessionId: 'a' })).toEqual(['a2', 'a1'])
})

test('a session is not confused with one whose id begins the same', async () => {
  const store = await open()
  await append(store, 'a', said('needle'))
  await append(store, 'a-b', said('needle'))
  await store.index.catchUp()

  expect((await store.index.search('needle', { sessionId: 'a' })).hits.map(({ sessionId }) => sessionId)).toEqual(['a'])
})

test('results come in pages that follow each other', async () => {
  const store = await open()
  await append(store, 'a', ...Array.from({ length: 25 }, (_, n) => said(`needle ${n}`)))
  await store.index.catchUp()

  const first = await store.index.search('needle', { limit: 10 })
  const second = await store.index.search('needle', { limit: 10, after: first.next ?? 0 })
  const third = await store.index.search('needle', { limit: 10, after: second.next ?? 0 })
  expect([first, second, third].flatMap(({ hits }) => hits.map(({ seq }) => seq))).toEqual(
    Array.from({ length: 25 }, (_, n) => 25 - n),
  )
  expect(third.next).toBeUndefined()
})

test('cost is summed by task, day and model', async () => {
  const store = await open()
  await append(
    store,
    'a',
    turn('a', '2026-01-01', 'big', 2),
    turn('a', '2026-01-02', 'big', 1),
    turn('a', '2026-01-02', 'big', 2),
    turn('a', '2026-01-02', 'small', 0.5),
  )
  await append(store, 'b', turn('b', '2026-01-02', 'big', 1))
  await store.index.catchUp()

  expect(store.index.costs(['task'])).toMatchObject([
    { task: 'a', usd: 5.5, turns: 4 },
    { task: 'b', usd: 1, turns: 1 },
  ])
  expect(store.index.costs(['day', 'model'])).toMatchObject([
    { day: '2026-01-01', model: 'big', usd: 2 },
    { day: '2026-01-02', model: 'big', usd: 4 },
    { day: '2026-01-02', model: 'small', usd: 0.5 },
  ])
  expect(store.index.costs([], { since: '2026-01-02', model: 'big' })).toMatchObject([
    { usd: 4, inputTokens: 30, turns: 3 },
  ])
})

test('a fork pays only for its own turns', async () => {
  const store = await open()
  await append(store, 'a', turn('a', '2026-01-01', 'big', 2))
  const fence = await store.claim('b', 'me')
  await store.copySessionFrom('a', 'b', fence, { taskId: 'b', ts, title: '', description: '', worktreePath: null })
  await store.append('b', fence, [turn('b', '2026-01-01', 'big', 1)])
  await store.index.catchUp()

  expect(store.index.costs([])).toMatchObject([{ usd: 3, turns: 2 }])
  expect(store.index.costs(['session'])).toMatchObject([
    { session: 'a', usd: 2 },
    { session: 'b', usd: 1 },
  ])
})

test('each session is known by its status, size and last event', async () => {
  const store = await open()
  await append(store, 'done', said('x'), ended('done_passed'))
  await append(store, 'parked', called('y', {}, loopTools.yield))
  await append(store, 'cut', called('c', {}))
  await store.index.catchUp()

  expect(store.index.sessions().map(({ sessionId, status, lastSeq }) => [sessionId, status, lastSeq])).toEqual([
    ['cut', 'interrupted', 1],
    ['done', 'done', 2],
    ['parked', 'yielding', 1],
  ])
  expect(store.index.findSession('done')?.bytes).toBe((await readFile(file('done'))).byteLength)
})

test.each([
  ['missing', async () => rm(join(directory, 'index.sqlite'))],
  [
    'damaged',
    async () =>
      writeFile(join(directory, 'index.sqlite'), 'this is not a database, whatever it was before'.repeat(100)),
  ],
  ['empty', async () => writeFile(join(directory, 'index.sqlite'), '')],
])('an index that is %s is made again, with progress', async (_, harm) => {
  const store = await open()
  for (const id of ['a', 'b', 'c']) await append(store, id, said(`needle ${id}`), turn(id, '2026-01-01', 'big', 1))
  await store.close()
  await harm()
  const progress: IndexProgress[] = []
  const again = await open({ onProgress: (step) => progress.push(step) })
  await again.index.catchUp()

  expect(progress.filter(({ phase }) => phase === 'sessions').at(-1)).toEqual({ phase: 'sessions', done: 3, total: 3 })
  expect((await again.index.search('needle')).hits).toHaveLength(3)
  expect(again.index.costs([])).toMatchObject([{ usd: 3 }])
})

test('events that the index has not seen are read in when the store is opened', async () => {
  const store = await open()
  await append(store, 'a', said('first'))
  await store.index.catchUp()
  await append(store, 'a', said('second'), turn('a', '2026-01-01', 'big', 1))
  await store.close()
  const again = await open()

  expect(again.index.findSession('a')?.lastSeq).toBe(3)
  expect(again.index.costs([])).toMatchObject([{ usd: 1 }])
  await again.index.catchUp()
  expect((await again.index.search('second')).hits).toHaveLength(1)
})

test('a session that has lost acknowledged events is quarantined, and no other', async () => {
  const store = await open()
  await append(store, 'a', said('one'))
  await append(store, 'a', said('two'))
  await append(store, 'b', said('fine'))
  await store.index.catchUp()
  await store.close()
  const lines = (await readFile(file('a'), 'utf8')).split('\n')
  await writeFile(file('a'), `${lines.slice(0, 2).join('\n')}\n`)
  const again = await open()

  expect(again.index.findSession('a')).toMatchObject({ status: 'corrupt', damage: { kind: 'shortened' } })
  await expect(append(again, 'a', said('more'))).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
  await append(again, 'b', said('still fine'))

  await again.close()
  await writeFile(file('a'), lines.join('\n'))
  const restored = await open()
  expect(restored.index.findSession('a')).toMatchObject({ status: 'interrupted', damage: undefined, lastSeq: 2 })
})

test('relaxed, a session may end before what the index has seen', async () => {
  const store = await open({ durability: 'relaxed' })
  await append(store, 'a', said('one'))
  await append(store, 'a', said('two'))
  await store.index.catchUp()
  await store.close()
  const lines = (await readFile(file('a'), 'utf8')).split('\n')
  await writeFile(file('a'), `${lines.slice(0, 2).join('\n')}\n`)
  const again = await open({ durability: 'relaxed' })

  expect(again.index.findSession('a')).toMatchObject({ damage: undefined, lastSeq: 1 })
  await append(again, 'a', said('on'))
})

test('a damaged session is marked, stays marked, and can be repaired', async () => {
  const store = await open()
  await append(store, 'a', said('one'))
  await append(store, 'a', said('two'))
  await append(store, 'a', said('three'))
  await store.close()
  await writeFile(file('a'), (await readFile(file('a'), 'utf8')).replace('"two"', '"2"'))
  await rm(join(directory, 'index.sqlite'))
  const again = await open()
  expect(again.index.findSession('a')).toMatchObject({ status: 'corrupt', damage: { kind: 'edited', line: 3 } })

  expect(await again.repairSession('a')).toMatchObject({ outcome: 'cut', lastSeq: 1, damage: [{ kind: 'edited' }] })
  await append(again, 'a', said('on'))
  await again.index.catchUp()
  expect(again.index.findSession('a')).toMatchObject({ lastSeq: 2, damage: undefined })
  expect(await readFile(join(directory, 'damaged', 'a.jsonl'), 'utf8')).toContain('"2"')
})

test('a session that is damaged again after its repair is kept as it was found each time', async () => {
  const kept: string[] = []
  for (const word of ['one', 'two']) {
    const store = await open()
    await append(store, 'a', said(word), said('end'))
    await store.close()
    await writeFile(file('a'), (await readFile(file('a'), 'utf8')).replace(`"${word}"`, `"not ${word}"`))
    const again = await open()
    kept.push((await again.repairSession('a'))?.kept ?? '')
    await again.close()
  }

  expect(await Promise.all(kept.map((name) => readFile(name, 'utf8')))).toMatchObject([
    expect.stringContaining('not one'),
    expect.stringContaining('not two'),
  ])
})

test('a flipped bit is repaired without losing anything', async () => {
  const store = await open()
  await append(store, 'a', said('one'), said('two'))
  await store.close()
  const bytes = await readFile(file('a'))
  bytes[bytes.indexOf('"two"') + 2] = (bytes[bytes.indexOf('"two"') + 2] as number) ^ 4
  await writeFile(file('a'), bytes)
  const again = await open()

  expect(await again.repairSession('a')).toMatchObject({ outcome: 'restored', lastSeq: 2 })
  expect(await again.repairSession('a')).toBeUndefined()
})

test('a session whose file is gone is forgotten', async () => {
  const store = await open()
  await append(store, 'a', said('needle'), turn('a', '2026-01-01', 'big', 1))
  await store.close()
  await rm(file('a'))
  const again = await open()

  expect(again.index.sessions()).toEqual([])
  expect(again.index.costs([])).toMatchObject([{ usd: 0 }])
  expect((await again.index.search('needle')).hits).toEqual([])
  await append(again, 'b', said('hay'))
  await again.index.catchUp()
  expect((await again.index.search('needle')).hits).toEqual([])
})

const ts = '2026-01-01T00:00:00.000Z'
const stamp = { taskId: 't', ts }

async function open(options: OpenOptions = {}): Promise<DataStore> {
  const store = await openEventStore(directory, options)
  onTestFinished(() => store.close().catch(() => undefined))
  return store
}

async function append(store: DataStore, sessionId: string, ...events: DurableEvent[]): Promise<void> {
  const fence = await store.claim(sessionId, 'test')
  await store.append(sessionId, fence, events)
  await store.release(sessionId, fence)
}

const file = (sessionId: string) => join(directory, 'sessions', `${sessionId}.jsonl`)

function said(text: string, at = ts): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: at, text }
}
function asked(text: string): DurableEvent {
  return { type: 'message', ...stamp, message: queueMessage.user({ id: text, text }) }
}
function called(callId: string, input: unknown, name = 'mcp__mxd__bash'): DurableEvent {
  return { type: 'tool_call', ...stamp, callId, name, input }
}
function answered(callId: string, text: string): DurableEvent {
  return { type: 'tool_result', ...stamp, callId, content: [{ type: 'text', text }], isError: false }
}
function ended(exitReason: string): DurableEvent {
  return { type: 'orchestration_completed', ...stamp, exitReason, output: '', costUsd: 0, turns: 1 }
}
function turn(taskId: string, day: string, model: string, costUsd: number): DurableEvent {
  const usage = { inputTokens: 10, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
  return { type: 'turn_completed', taskId, ts: `${day}T12:00:00.000Z`, model, stopReason: 'tool_use', usage, costUsd }
}
