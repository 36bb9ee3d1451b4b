import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readStored, said, stamp } from './contract-case.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { findSum, formatLine } from './line.ts'

test('an event of an unknown type is kept, shown, and no part of the conversation', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'event-store-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const unknown = { type: 'from_the_future', ...stamp, more: 1 }
  const older = await openJsonlEventStore(directory)
  await older.append('s', await older.claim('s', 'me'), [said('a')])
  await older.close()
  await appendLine(join(directory, 's.jsonl'), 2, unknown)

  const store = await openJsonlEventStore(directory)
  await store.append('s', await store.claim('s', 'me'), [said('b')])
  const stored = await readStored(store, 's')
  expect(stored.map(({ known }) => known)).toEqual([true, false, true])
  expect(stored.map(({ event }) => event)).toEqual([said('a'), unknown, said('b')])
  expect(await store.readActive('s')).toEqual([said('a'), said('b')])
  await store.close()
})

/** As a later version would have written it. */
async function appendLine(file: string, seq: number, event: object): Promise<void> {
  const before = await readFile(file)
  const last = before.subarray(before.lastIndexOf(10, before.byteLength - 2) + 1, before.byteLength - 1)
  const { line } = formatLine({ seq }, JSON.stringify(event), findSum(last) ?? '')
  await writeFile(file, Buffer.concat([before, Buffer.from(line)]))
}
