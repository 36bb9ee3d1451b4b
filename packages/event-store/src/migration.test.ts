import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DurableEvent } from '@matrix/protocol'
import { findPendingMessages } from '@matrix/protocol/session'
import { beforeEach, expect, test } from 'vitest'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { runEventMigrations } from './migration.ts'
import { type SimulatedDisk, simulateDisk } from './simulated-file-system.ts'

let old: Buffer
let disk: SimulatedDisk

beforeEach(async () => {
  old = await readFile(join(import.meta.dirname, '..', 'fixtures', 'session-v0.jsonl'))
  disk = simulateDisk(1)
  disk.writeNow('/data/01K0A.jsonl', old)
})

test('a session of version 0 is migrated when it is opened, and its original is kept', async () => {
  const store = await open()
  const types: string[] = []
  for await (const batch of store.read('01K0A')) for (const { event } of batch) types.push(event.type)

  expect(types).toEqual([
    ...['task_started', 'message', 'messages_consumed', 'assistant_text', 'tool_call', 'tool_result'],
    ...['something_else', 'compact_marker', 'assistant_text'],
  ])
  expect(disk.readNow('/data/01K0A.jsonl.v0')).toEqual(old)
})

test('every migrated event is one of today, and nothing that was consumed waits again', async () => {
  const store = await open()
  const events: unknown[] = []
  for await (const batch of store.read('01K0A')) for (const { event, known } of batch) if (known) events.push(event)

  for (const event of events) expect(DurableEvent.safeParse(event).error).toBeUndefined()
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'tool_result', content: [{ type: 'text', text: 'index.html' }] }),
  )
  expect(findPendingMessages(events as DurableEvent[])).toEqual([])
})

test('a migrated session goes on where it was', async () => {
  const store = await open()
  const fence = await store.claim('01K0A', 'me')
  await store.append('01K0A', fence, [
    { type: 'agent_stopped', taskId: '01K0A', ts: '2026-01-01T00:00:00.000Z', reason: 'x' },
  ])

  expect((await store.readActive('01K0A')).map(({ type }) => type)).toEqual([
    'compact_marker',
    'assistant_text',
    'agent_stopped',
  ])
})

test('runEventMigrations brings all sessions up and names those it cannot', async () => {
  disk.writeNow(
    '/data/broken.jsonl',
    Buffer.from('{"type":"message","text":"a"}\nnot json\n{"type":"message","text":"b"}\n'),
  )
  const failed = await runEventMigrations(await open())

  expect(failed).toMatchObject([
    { sessionId: 'broken', error: { code: 'SESSION_CORRUPT', message: expect.stringContaining('broken.jsonl:2') } },
  ])
  expect(disk.readNow('/data/01K0A.jsonl')?.toString()).toContain('"format":"matrix-session"')
})

test('a result that names a background process in words only has it in a field when it is read', async () => {
  const stamp = { taskId: 's', ts: '2026-01-01T00:00:00.000Z' }
  const result = (text: string, isError = false): DurableEvent => ({
    ...{ type: 'tool_result', ...stamp, callId: 'c' },
    ...{ content: [{ type: 'text', text }], isError },
  })
  const store = await open()
  const started = result('Started in the background as bg_1.')
  const others = [
    result('Started in the background as bg_1.', true),
    result('It said: Started in the background as x.'),
  ]
  await store.append('s', await store.claim('s', 'me'), [started, ...others])

  expect(await store.readActive('s')).toEqual([{ ...started, background: { processId: 'bg_1' } }, ...others])
})

test('a crash at any step of a migration leaves a session that opens with everything in it', async () => {
  for (let step = 1; step < 60; step += 1)
    for (const kind of ['kill', 'power'] as const) {
      disk = simulateDisk(step)
      disk.writeNow('/data/01K0A.jsonl', old)
      const crashed = new Promise<void>((resolve) => disk.crashAt(step, kind, resolve))
      await Promise.race([crashed, open().then((store) => store.lastSeq('01K0A'))])
      disk.crashAt(Number.POSITIVE_INFINITY, kind, () => undefined)

      expect(await (await open()).lastSeq('01K0A')).toBe(9)
    }
})

function open() {
  return openJsonlEventStore('/data', { fileSystem: disk.boot() })
}
