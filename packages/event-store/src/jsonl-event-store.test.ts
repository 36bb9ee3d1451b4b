import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DurableEvent } from '@matrix/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openJsonlEventStore } from './jsonl-event-store.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'store-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

test('what was appended is read back after the store is opened again', async () => {
  const store = await openJsonlEventStore(directory)
  const fence = await store.claim('s1', 'me')
  expect(await store.append('s1', fence, [said('one'), said('two')])).toBe(2)
  expect(await store.append('s1', fence, [said('three é')])).toBe(3)
  await store.close()

  const again = await openJsonlEventStore(directory)
  expect(await all(again, 's1')).toEqual([said('one'), said('two'), said('three é')])
  console.log(await readFile(join(directory, 's1.jsonl'), 'utf8'))
})

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text }
}
async function all(store: Awaited<ReturnType<typeof openJsonlEventStore>>, id: string) {
  const events = []
  for await (const batch of store.read(id)) for (const { event } of batch) events.push(event)
  return events
}
