import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type OpenOnDisk, planCrashes, runWithCrashes } from './crash-harness.ts'
import type { Operation } from './simulated-file-system.ts'

// A check that nothing can fail proves nothing. Each of these is a mistake someone could make; the sweep has to see it.
// Where one can only show after a fault of some kind, only the crashes of the sweep with such faults are tried.
const bugs: { name: string; file: string; write: string; instead: string; after?: Operation['name'] }[] = [
  {
    name: 'an append is acknowledged without a sync',
    file: 'session-writer.ts',
    write: "durability === 'relaxed' ? 'write' : 'write-through'",
    instead: "'write'",
  },
  {
    name: 'what a killed process left is not synced before it is shown',
    file: 'session-file.ts',
    write: '      await makeDurable(file)\n',
    instead: '',
  },
  {
    name: 'the directory of a new file is not synced',
    file: 'session-writer.ts',
    write: 'else if (before.size === 0) await keepName()',
    instead: '',
  },
  {
    name: 'readers see an append before it is durable',
    file: 'session-writer.ts',
    write: '    await writeWhole(target, bytes, before.size)\n',
    instead: '    options.onWritten(tail)\n    await writeWhole(target, bytes, before.size)\n',
  },
  {
    name: 'a torn tail is left in the file',
    file: 'session-file.ts',
    write: '      if ((await file.size()) > found.size) await file.truncate(found.size)\n',
    instead: '',
  },
  {
    name: 'a failed write is not cut back',
    after: 'write',
    file: 'session-writer.ts',
    write: '      await target.truncate(cutBackTo)\n      await target.sync()\n',
    instead: '',
  },
  {
    name: 'a short write counts as written',
    after: 'write',
    file: 'session-writer.ts',
    write: 'if (written < bytes.byteLength)',
    instead: 'if (written < 0)',
  },
  {
    name: 'half of an append is believed',
    file: 'tail.ts',
    write: 'if (followers(last) === 0) return last',
    instead: 'if (followers(last) >= 0) return last',
  },
  {
    name: 'a line without its newline is believed',
    file: 'tail.ts',
    write: '    if (newline >= 0) return from + newline + 1\n',
    instead: '    if (newline >= 0) return size\n',
  },
  {
    name: 'what was queued behind a failure is written all the same',
    after: 'write',
    file: 'session-writer.ts',
    write: '        for (const append of queue.splice(0)) append.reject(error)\n',
    instead: '',
  },
  {
    name: 'what is sent before the failure is heard of is written all the same',
    after: 'write',
    file: 'session-writer.ts',
    write: '        await new Promise((resolve) => setImmediate(resolve))\n',
    instead: '',
  },
  {
    name: 'a failed write is remembered as if it had happened',
    after: 'write',
    file: 'session-writer.ts',
    write: '      state = undefined\n      cutBackTo = position\n',
    instead: '      cutBackTo = position\n',
  },
  {
    name: 'a sync that failed is tried again',
    after: 'sync',
    file: 'session-file.ts',
    write: '      options.onFatal(failure)\n      throw failure\n',
    instead: '      await file.sync()\n      await fileSystem.syncDirectory(directory)\n',
  },
  {
    name: 'a compaction forgets the messages that wait',
    file: 'session-writer.ts',
    write: 'startsActive(event) ? keptBy(event, carry) : []',
    instead: '[]',
  },
  {
    name: 'a compaction brings consumed messages back',
    file: 'carry.ts',
    write: 'state.pending.map(({ id }) => messages.get(id))',
    instead: '[...messages.values()]',
  },
  {
    name: 'readers see whatever is in the file',
    file: 'session-file.ts',
    write: 'return (await tail()).size',
    instead: 'return (await tail()) && ((await fileSystem.stat(path))?.size ?? 0)',
  },
  {
    name: 'a fork is appended event by event',
    file: 'jsonl-event-store.ts',
    write: 'return await store.append(target, fence, forkEvents(active, { sourceTaskId: source, sourceSeq }, marker))',
    instead:
      'let seq = 0; for (const event of forkEvents(active, { sourceTaskId: source, sourceSeq }, marker)) seq = await store.append(target, fence, [event]); return seq',
  },
]

const folder = join(import.meta.dirname, '..', '.planted')
const points = Number(process.env.MATRIX_PLANTED_POINTS ?? 6000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each(bugs)('the crash sweep sees when $name', { timeout: 120_000 }, async (bug) => {
  const openOnDisk = await plant(bug)

  expect(await findViolation(openOnDisk, bug.after)).toBeDefined()
})

async function findViolation(openOnDisk: OpenOnDisk, after?: Operation['name']): Promise<string | undefined> {
  for (const plan of planCrashes(points)) {
    if (after && !plan.faults?.some(({ on }) => on === after)) continue
    const { violations } = await runWithCrashes(openOnDisk, plan)
    if (violations[0]) return violations[0]
  }
  return undefined
}

/** A copy of the package with the bug in it. */
async function plant({ name, file, write, instead }: (typeof bugs)[number]): Promise<OpenOnDisk> {
  const target = join(folder, name.replaceAll(' ', '-'))
  await mkdir(target, { recursive: true })
  await cp(import.meta.dirname, target, { recursive: true, filter: (path) => !path.endsWith('.test.ts') })
  const source = await readFile(join(target, file), 'utf8')
  expect(source.split(write), `${file} no longer holds the line that "${name}" changes`).toHaveLength(2)
  await writeFile(join(target, file), source.replace(write, instead))

  const { openJsonlEventStore } = await import(/* @vite-ignore */ join(target, 'jsonl-event-store.ts'))
  const clock = { now: () => 0, after: () => () => undefined }
  return (fileSystem, onFatal) => openJsonlEventStore('/data/sessions', { fileSystem, onFatal, clock })
}
