import { type DurableEvent, MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { type Damage, findDamage } from './damage.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { formatHeader, formatLine } from './line.ts'
import { type SimulatedDisk, simulateDisk } from './simulated-file-system.ts'

const path = '/data/s.jsonl'
const texts = ['one', 'two', 'three', 'four', 'five a', 'five b']
let lines: string[]
let disk: SimulatedDisk

beforeEach(async () => {
  disk = simulateDisk(1)
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
  const fence = await store.claim('s', 'me')
  for (const text of texts.slice(0, 4)) await store.append('s', fence, [said(text)])
  await store.append('s', fence, [said('five a'), said('five b')])
  await store.close()
  lines = (disk.readNow(path)?.toString() ?? '').split('\n').slice(0, -1)
})

test('a line torn by a crash is dropped, and the next append starts clean', async () => {
  disk.writeNow(path, Buffer.from(`${whole()}{"seq":7,"event":{"type":"assist`))
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
  await store.append('s', await store.claim('s', 'me'), [said('after the crash')])

  expect((await readAgain()).at(-1)).toBe('after the crash')
  expect(await readAgain()).toHaveLength(7)
})

test('a file whose last bytes never arrived is cut before the zeros', async () => {
  disk.writeNow(path, Buffer.concat([Buffer.from(`${whole()}{"seq":7,"ev`), Buffer.alloc(300)]))

  expect(await readAgain()).toEqual(texts)
})

test('zeros in the middle of the last write are no damage either, but zeros before a whole line are', async () => {
  const torn = Buffer.concat([Buffer.from('{"seq":7,"ev'), Buffer.alloc(300), Buffer.from('"},"sum":"x"}\n')])
  disk.writeNow(path, Buffer.concat([Buffer.from(whole()), torn]))
  expect(await readAgain()).toEqual(texts)

  const [last] = lines.slice(-1)
  disk.writeNow(path, Buffer.concat([Buffer.from(whole()), torn, Buffer.from(`${last}\n`)]))
  expect(await findOnRead()).toMatchObject({ kind: 'unreadable', line: 8, message: expect.stringContaining('zero') })
})

test('an append of which the last line is missing never happened', async () => {
  disk.writeNow(path, Buffer.from(joined(lines.slice(0, -1))))

  expect(await readAgain()).toEqual(texts.slice(0, 4))
})

test('a first append torn in its header too is an empty session, but zeros in a header before a whole event are damage', async () => {
  const [header = '', first] = lines
  const torn = Buffer.from(`${header}\n${first?.slice(0, 40)}`).fill(0, 1, 3)
  disk.writeNow(path, torn)
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
  expect(await store.append('s', await store.claim('s', 'me'), [said('first')])).toBe(1)

  disk.writeNow(path, Buffer.from(`${header}\n${first}\n`).fill(0, 1, 3))
  expect(await findOnRead()).toMatchObject({ line: 1, message: expect.stringContaining('zero') })
})

test('a header that was never finished is an empty session', async () => {
  disk.writeNow(path, Buffer.from('{"seq":0,"format":"matrix'))
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })

  expect(await store.append('s', await store.claim('s', 'me'), [said('first')])).toBe(1)
})

test('every single flipped bit is found, and named with the byte that it was', async () => {
  const original = Buffer.from(whole())
  await fc.assert(
    fc.asyncProperty(fc.nat(original.byteLength - 1), fc.nat(7), async (at, bit) => {
      const damaged = Buffer.from(original)
      damaged[at] = (damaged[at] as number) ^ (1 << bit)
      disk.writeNow(path, damaged)
      // Without its last newline the last line is torn, and torn lines are dropped: that is not told from a crash.
      if (at === original.byteLength - 1) return
      const damage = await findOnRead()
      expect(damage).toMatchObject({ kind: 'flipped', file: path, fix: { offset: at, byte: original[at] } })
    }),
    { numRuns: 150 },
  )
})

test('a bit that turned a space of the last line into a zero is no power cut', async () => {
  const store = await openJsonlEventStore('/other', { fileSystem: disk.boot() })
  await store.append('s', await store.claim('s', 'me'), [said('two words')])
  const bytes = Buffer.from(disk.readNow('/other/s.jsonl') ?? [])
  const at = bytes.indexOf('two words') + 3
  bytes[at] = 0
  disk.writeNow(path, bytes)

  expect(await findOnRead()).toMatchObject({ kind: 'flipped', line: 2, fix: { offset: at, byte: ' '.charCodeAt(0) } })
})

test('a bit that turned a letter into a line break is found, and put back', async () => {
  const store = await openJsonlEventStore('/other', { fileSystem: disk.boot() })
  await store.append('s', await store.claim('s', 'me'), [said('Jump')])
  const bytes = Buffer.from(disk.readNow('/other/s.jsonl') ?? [])
  const at = bytes.indexOf('Jump')
  bytes[at] = 10
  disk.writeNow(path, bytes)

  expect(await findOnRead()).toMatchObject({ kind: 'flipped', line: 2, fix: { offset: at, byte: 'J'.charCodeAt(0) } })
})

test('a line left out is found even where somebody has made the sums fit', async () => {
  const header = formatHeader({ seq: 0, format: 'matrix-session', v: 1, sessionId: 's', createdAt: '' })
  const one = formatLine({ seq: 1 }, JSON.stringify(said('one')), header.sum)
  const three = formatLine({ seq: 3 }, JSON.stringify(said('three')), one.sum)
  disk.writeNow(path, Buffer.from(header.line + one.line + three.line))

  expect(await findOnRead()).toMatchObject({ kind: 'missing', line: 3 })
})

test('an edited line is told from a flipped bit', async () => {
  disk.writeNow(path, Buffer.from(whole().replace('"two"', '"TWO!"')))

  expect(await findOnRead()).toMatchObject({ kind: 'edited', line: 3 })
})

test('a missing line is found, and which events it held', async () => {
  disk.writeNow(path, Buffer.from(joined([...lines.slice(0, 2), ...lines.slice(4)])))

  expect(await findOnRead()).toMatchObject({
    kind: 'missing',
    line: 3,
    message: expect.stringContaining('events 2 to 3'),
  })
})

test('two lines that changed places are found', async () => {
  const [header, one, two, three, ...rest] = lines
  disk.writeNow(path, Buffer.from(joined([header, one, three, two, ...rest] as string[])))

  expect(await findOnRead()).toMatchObject({ kind: 'reordered', line: 3 })
})

test('a repeated line is found', async () => {
  const [header, one, two, ...rest] = lines
  disk.writeNow(path, Buffer.from(joined([header, one, two, two, ...rest] as string[])))

  expect(await findOnRead()).toMatchObject({ kind: 'repeated', line: 4 })
})

test('garbage in the middle is unreadable, and what stands before it can still be read', async () => {
  disk.writeNow(path, Buffer.from(joined([...lines.slice(0, 3), 'rubbish', ...lines.slice(4)])))
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
  const seen: unknown[] = []
  const reading = (async () => {
    for await (const batch of store.read('s')) seen.push(...batch)
  })()

  await expect(reading).rejects.toThrow(`${path}:4: the line is not one that Matrix wrote`)
  expect(seen).toHaveLength(2)
})

test('a damaged session takes no appends, and the sessions beside it do', async () => {
  disk.writeNow(path, Buffer.from(whole().replace('"two"', '"TWO!"')))
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })

  await expect(store.claim('s', 'me')).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
  await expect(store.readActive('s')).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
  expect(await store.append('other', await store.claim('other', 'me'), [said('fine')])).toBe(1)
})

test('damage that is found while a session is open stops its appends', async () => {
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
  const fence = await store.claim('s', 'me')
  disk.writeNow(path, Buffer.from(whole().replace('"two"', '"TWO!"')))
  await expect(readTexts(store)).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })

  await expect(store.append('s', fence, [said('more')])).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
})

test('the file of another session is not taken for this one', async () => {
  disk.writeNow('/data/t.jsonl', Buffer.from(whole()))
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })

  await expect(store.claim('t', 'me')).rejects.toThrow('the file holds session s')
})

test('a session of a later version is left alone', async () => {
  const later = formatHeader({ seq: 0, format: 'matrix-session', v: 2, sessionId: 's', createdAt: '' })
  disk.writeNow(path, Buffer.from(later.line))
  const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })

  await expect(store.lastSeq('s')).rejects.toMatchObject({ code: 'SESSION_VERSION' })
  expect(disk.readNow(path)?.toString()).toBe(later.line)
})

test('no mutation of a file crashes a reader or hides a line before the damage', { timeout: 60_000 }, async () => {
  const original = Buffer.from(whole())
  await fc.assert(
    fc.asyncProperty(mutation(original.byteLength), async ({ at, remove, insert }) => {
      const damaged = Buffer.concat([original.subarray(0, at), Buffer.from(insert), original.subarray(at + remove)])
      disk.writeNow(path, damaged)
      const store = await openJsonlEventStore('/data', { fileSystem: disk.boot() })
      const seen: string[] = []
      try {
        for await (const batch of store.read('s'))
          for (const { event } of batch) seen.push((event as { text: string }).text)
      } catch (error) {
        expect(error).toBeInstanceOf(MatrixError)
      }
      // The last two were one append: without its end it never happened.
      const untouched = original.subarray(0, firstDifference(original, damaged)).toString().split('\n').length - 2
      const kept = Math.max(0, untouched === 5 ? 4 : untouched)
      expect(seen.slice(0, kept)).toEqual(texts.slice(0, kept))
      expect(seen).toEqual(texts.slice(0, seen.length))
    }),
    { numRuns: Number(process.env.MATRIX_FUZZ_RUNS ?? 500) },
  )
})

function mutation(size: number) {
  return fc.record({
    at: fc.nat(size),
    remove: fc.nat(400),
    insert: fc.oneof(fc.constant(''), fc.string(), fc.constant('\n')),
  })
}

function firstDifference(left: Buffer, right: Buffer): number {
  let at = 0
  while (at < left.byteLength && left[at] === right[at]) at += 1
  return at
}

async function findOnRead(): Promise<Damage | undefined> {
  return readAgain().then(
    () => undefined,
    (error) => findDamage(error),
  )
}

async function readAgain(): Promise<string[]> {
  return readTexts(await openJsonlEventStore('/data', { fileSystem: disk.boot() }))
}

async function readTexts(store: Awaited<ReturnType<typeof openJsonlEventStore>>): Promise<string[]> {
  const found: string[] = []
  for await (const batch of store.read('s')) for (const { event } of batch) found.push((event as { text: string }).text)
  return found
}

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text }
}

const joined = (some: string[]) => `${some.join('\n')}\n`
const whole = () => joined(lines)
