import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DurableEvent, MatrixError } from '@matrix/protocol'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Clock } from './clock.ts'
import type { Fence } from './event-store.ts'
import { type FileSystem, syncingWrites } from './file-system.ts'
import { type JsonlEventStore, openJsonlEventStore } from './jsonl-event-store.ts'
import { type Fault, type Operation, type SimulatedDisk, simulateDisk } from './simulated-file-system.ts'

let disk: SimulatedDisk
let store: JsonlEventStore
let fence: Fence
let fatal: MatrixError[]

beforeEach(async () => {
  disk = simulateDisk(3)
  fatal = []
  store = await openJsonlEventStore('/data', { fileSystem: disk.boot(), onFatal: (error) => fatal.push(error) })
  fence = await store.claim('s', 'me')
  await store.append('s', fence, [said('before')])
})

test('a full disk refuses, names the file, and work goes on when there is room again', async () => {
  disk.setCapacity((disk.readNow('/data/s.jsonl')?.byteLength ?? 0) + 40)
  await expect(store.append('s', fence, [said('too much')])).rejects.toMatchObject({
    code: 'STORAGE_FULL',
    message: expect.stringContaining('/data/s.jsonl'),
  })
  await expect(store.append('s', fence, [said('still too much')])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect(await texts()).toEqual(['before'])

  disk.setCapacity(Number.POSITIVE_INFINITY)
  expect(await store.append('s', fence, [said('room again')])).toBe(2)
  expect(await texts()).toEqual(['before', 'room again'])
})

test('a write that is taken only in part is cut back to the last good line', async () => {
  const good = disk.readNow('/data/s.jsonl')
  fail('write', 'short')
  await expect(store.append('s', fence, [said('x'.repeat(500))])).rejects.toMatchObject({ code: 'STORAGE_FULL' })

  expect(disk.readNow('/data/s.jsonl')).toEqual(good)
})

test('nothing is written after a part that could not be cut off, until it could', async () => {
  let cut = false
  disk.failWhen(({ name }) => (name === 'write' && !cut ? 'short' : name === 'truncate' && !cut ? 'EACCES' : undefined))
  await expect(store.append('s', fence, [said('torn')])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  await heard()
  await expect(store.append('s', fence, [said('refused')])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  expect(await texts()).toEqual(['before'])
  await heard()

  cut = true
  await store.append('s', fence, [said('after')])
  expect(await texts()).toEqual(['before', 'after'])
})

test.each(['EIO', 'EACCES'] as const)(
  'a disk that fails a write with %s ends the process, and nothing is acknowledged after it',
  async (fault) => {
    fail('write', fault)
    await expect(store.append('s', fence, [said('doubtful')])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })

    expect(fatal).toHaveLength(1)
    await expect(store.append('s', fence, [said('never')])).rejects.toBe(fatal[0])
  },
)

test('relaxed, a disk error on a sync ends the process too', async () => {
  const clock: Clock = { now: () => 0, after: soon }
  const opened = await openJsonlEventStore('/data', {
    ...{ fileSystem: disk.boot(), clock, durability: 'relaxed', onFatal: (error) => fatal.push(error) },
  })
  const mine = await opened.claim('relaxed', 'me')
  fail('sync', 'EIO')
  await opened.append('relaxed', mine, [said('doubtful')])

  await expect.poll(() => fatal).toHaveLength(1)
})

test('where the system has no writes that go through, a write is synced before it is answered', async () => {
  const path = '/data/plain'
  const file = syncingWrites(await disk.boot().open(path, 'write'))
  expect(await file.write(Buffer.from('kept'), 0)).toBe(4)
  await disk.boot().syncDirectory('/data')
  disk.crashNow('power')

  expect(disk.readNow(path)?.toString()).toBe('kept')
})

test('unless somebody decides otherwise, a failed sync ends the process with code 74', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'event-store-fatal-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const writer = join(import.meta.dirname, '..', 'fixtures', 'writer-on-a-failing-disk.ts')
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), writer, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let told = ''
  child.stdout.on('data', (bytes: Buffer) => {
    told += bytes
  })
  const code = await new Promise((resolve) => child.on('close', resolve))

  expect({ code, told }).toEqual({ code: 74, told: 'acknowledged\n' })
})

test('what was queued behind a failed append fails with it, and in order', async () => {
  fail('write', 'ENOSPC')
  const appends = [store.append('s', fence, [said('a')]), store.append('s', fence, [said('b')])]
  const outcomes = await Promise.allSettled(appends)

  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await texts()).toEqual(['before'])
})

test('a file that may not be opened is named, with what to do', async () => {
  fail('open', 'EACCES')
  await expect(
    store.claim('other', 'me').then((other) => store.append('other', other, [said('x')])),
  ).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    message: expect.stringContaining('/data/other.jsonl'),
    hint: expect.stringContaining('write'),
  })
  disk.failWhen(() => undefined)

  expect(await store.append('other', await store.claim('other', 'me'), [said('x')])).toBe(1)
})

test('whatever fails at whichever step, what was acknowledged stays and what was refused does not', {
  timeout: 60_000,
}, async () => {
  for (const fault of ['ENOSPC', 'EACCES', 'EMFILE', 'short', 'EIO'] as const)
    for (let at = 1; at <= 60; at += 1) await runWithFault(fault, at)
})

async function runWithFault(fault: Fault, at: number): Promise<void> {
  const shaky = simulateDisk(at)
  let step = 0
  shaky.failWhen(({ name }) => {
    step += 1
    return step === at && canFail(name, fault) ? fault : undefined
  })
  const kept: string[] = []
  const died: unknown[] = []
  try {
    const opened = await openJsonlEventStore('/data', {
      fileSystem: shaky.boot(),
      onFatal: (error) => died.push(error),
    })
    const mine = await opened.claim('s', 'me')
    for (let n = 0; n < 8; n += 1)
      await opened.append('s', mine, [said(`${n}`), said(`${n}!`)]).then(() => kept.push(`${n}`, `${n}!`), heard)
  } catch {
    // The fault hit the opening itself; nothing was acknowledged then.
  }
  shaky.failWhen(() => undefined)
  shaky.crashNow('power')
  const again = await openJsonlEventStore('/data', { fileSystem: shaky.boot() })
  const found = await textsOf(again)
  // A disk that failed under a sync may have kept the append it refused to vouch for.
  if (died.length > 0) expect(found.slice(0, kept.length)).toEqual(kept)
  else expect(found).toEqual(kept)
}

test('relaxed, a session that is closed while its file is being synced is not taken for a failed disk', async () => {
  const files = slowSync(simulateDisk(4).boot())
  const clock: Clock = { now: () => 0, after: soon }
  const opened = await openJsonlEventStore('/data', {
    ...{ fileSystem: files, clock, durability: 'relaxed', onFatal: (error) => fatal.push(error) },
  })
  const mine = await opened.claim('s', 'me')
  await opened.append('s', mine, [said('one')])
  await opened.release('s', mine)
  await opened.close()
  await heard()

  expect(fatal).toEqual([])
})

/** Calls back as soon as it can. */
function soon(_: number, callback: () => void): () => void {
  queueMicrotask(callback)
  return () => undefined
}

/** Syncs that take a moment, and fail when their file is gone by then, as descriptors do. */
function slowSync(files: FileSystem): FileSystem {
  return {
    ...files,
    async open(path, mode) {
      const file = await files.open(path, mode)
      let closed = false
      return {
        ...file,
        async sync() {
          await heard()
          if (closed) throw Object.assign(new Error('bad file descriptor'), { code: 'EBADF' })
          await file.sync()
        },
        async close() {
          closed = true
          await file.close()
        },
      }
    },
  }
}

/** What is sent in the same moment as a failure fails with it. */
function heard(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function canFail(name: Operation['name'], fault: Fault): boolean {
  if (fault === 'short') return name === 'write'
  if (fault === 'EMFILE') return name === 'open'
  return true
}

function fail(operation: Operation['name'], fault: Fault): void {
  let done = false
  disk.failWhen(({ name }) => {
    if (done || name !== operation) return undefined
    done = true
    return fault
  })
}

const texts = () => textsOf(store)

async function textsOf(from: JsonlEventStore): Promise<string[]> {
  const found: string[] = []
  for await (const batch of from.read('s')) for (const { event } of batch) found.push((event as { text: string }).text)
  return found
}

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text }
}
