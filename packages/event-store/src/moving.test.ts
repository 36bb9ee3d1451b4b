import type { DurableEvent } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { listArchives } from './archive.ts'
import { openChainChecker } from './chain.ts'
import type { FileSystem } from './file-system.ts'
import { openJsonlEventStore } from './jsonl-event-store.ts'
import { openRetention, type Retention } from './retention.ts'
import type { SessionIndex } from './session-index.ts'
import { type SimulatedDisk, simulateDisk } from './simulated-file-system.ts'

const directories = { sessions: '/data/sessions', archive: '/data/archive', damaged: '/data/damaged' }
const texts = Array.from({ length: 30 }, (_, n) => `event ${n}`)

test('a crash at any step of archiving leaves the session, its archive, or both', { timeout: 60_000 }, async () => {
  await crashEverywhere(async ({ archiveSession }) => archiveSession('s'))
})

test('a crash at any step of restoring leaves the session, its archive, or both', { timeout: 60_000 }, async () => {
  await crashEverywhere(
    async ({ restoreSession }, archive) => restoreSession(archive),
    async ({ archiveSession }) => archiveSession('s'),
  )
})

test('a full disk stops archiving, and the session stays', async () => {
  const disk = simulateDisk(1)
  const retention = await open(disk)
  disk.failWhen(({ name, path }) => (name === 'write' && path.includes('archive') ? 'ENOSPC' : undefined))
  await expect(retention.archiveSession('s')).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  disk.failWhen(() => undefined)

  expect(await findTexts(disk)).toEqual(texts)
  expect(disk.names().filter((name) => name.includes('archive'))).toEqual([])
})

test.each(['/data/archive', '/data/out.jsonl'])(
  'a copy that the disk has garbled at %s is not taken for one',
  async (garbled) => {
    const disk = simulateDisk(1)
    await open(disk)
    const { retention } = await openParts(garbling(disk.boot(), garbled))

    await expect(
      garbled.includes('archive') ? retention.archiveSession('s') : retention.exportSession('s', '/data/out.jsonl'),
    ).rejects.toMatchObject({ code: 'STORAGE_FAILED', message: expect.stringContaining('could not be read back') })
    expect(await findTexts(disk)).toEqual(texts)
  },
)

/** A disk that says it has written what it has not. */
function garbling(fileSystem: FileSystem, place: string): FileSystem {
  return {
    ...fileSystem,
    async open(opened, mode) {
      const file = await fileSystem.open(opened, mode)
      if (!opened.startsWith(place) || mode === 'read') return file
      return {
        ...file,
        write: (bytes, position) =>
          file.write(
            bytes.map((byte, at) => (at === 40 ? byte ^ 1 : byte)),
            position,
          ),
      }
    },
  }
}

/** Does the work with a crash at its first step, its second, and so on, and looks for the session each time. */
async function crashEverywhere(
  work: (retention: Retention, archive: string) => Promise<unknown>,
  prepare: (retention: Retention) => Promise<string> = async () => '',
): Promise<void> {
  let finished = false
  for (let after = 1; !finished; after += 1)
    for (const kind of ['kill', 'power'] as const) {
      const disk = simulateDisk(after)
      const retention = await open(disk)
      const archive = await prepare(retention)
      const crashed = new Promise<'crashed'>((resolve) =>
        disk.crashAt(disk.steps() + after, kind, () => resolve('crashed')),
      )
      finished = (await Promise.race([crashed, work(retention, archive)])) !== 'crashed'
      if (finished) disk.crashNow(kind)
      disk.crashAt(Number.POSITIVE_INFINITY, kind, () => undefined)

      expect(await findTexts(disk)).toEqual(texts)
    }
}

/** Whatever is left, wherever it is. */
async function findTexts(disk: SimulatedDisk): Promise<string[]> {
  const { jsonl, retention } = await openParts(disk.boot())
  const archives = await listArchives(disk.boot(), directories.archive)
  if ((await jsonl.lastSeq('s')) === 0) await retention.restoreSession(archives[0] ?? 'none')
  return (await jsonl.readActive('s')).map((event) => (event as { text: string }).text)
}

async function open(disk: SimulatedDisk): Promise<Retention> {
  const { jsonl, retention } = await openParts(disk.boot())
  const fence = await jsonl.claim('s', 'me')
  await jsonl.append('s', fence, texts.map(said))
  await jsonl.release('s', fence)
  return retention
}

async function openParts(fileSystem: FileSystem) {
  const jsonl = await openJsonlEventStore(directories.sessions, { fileSystem })
  const index = { catchUp: async () => undefined, setArchive: () => undefined, clearArchive: () => undefined }
  const checker = openChainChecker()
  const retention = openRetention({ fileSystem, checker, jsonl, directories, index: index as unknown as SessionIndex })
  return { jsonl, retention }
}

function said(text: string): DurableEvent {
  return { type: 'assistant_text', taskId: 't', ts: '2026-01-01T00:00:00.000Z', text }
}
