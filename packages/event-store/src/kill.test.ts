import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openJsonlEventStore } from './jsonl-event-store.ts'

const kills = Number(process.env.MATRIX_KILLS ?? 3)
const tsx = import.meta.resolve('tsx')
const writer = join(import.meta.dirname, '..', 'fixtures', 'killed-writer.ts')

test(`a real process that is killed ${kills} times in a row loses nothing it acknowledged`, {
  timeout: 60_000 + kills * 10_000,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'event-store-kill-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  let total = 0

  for (let kill = 0; kill < kills; kill += 1) {
    const acknowledged = await runAndKill(directory, 20 + ((kill * 37) % 180))
    const store = await openJsonlEventStore(directory)
    for (const [sessionId, count] of acknowledged) {
      const found = await readNumbers(store, sessionId)
      expect(found.length).toBeGreaterThanOrEqual(count)
      expect(found).toEqual(found.map((_, index) => index + 1))
      total += count
    }
    await store.close()
  }
  expect(total).toBeGreaterThan(kills)
})

/** Lets the writer work for a while after its first acknowledgement, then kills it, and answers what it had said by then. */
async function runAndKill(directory: string, afterMs: number): Promise<Map<string, number>> {
  const child = spawn(process.execPath, ['--import', tsx, writer, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acknowledged = new Map<string, number>()
  let rest = ''
  child.stdout.on('data', (bytes: Buffer) => {
    if (acknowledged.size === 0) setTimeout(() => child.kill('SIGKILL'), afterMs)
    const lines = `${rest}${bytes}`.split('\n')
    rest = lines.pop() ?? ''
    for (const [sessionId, count] of lines.map((line) => line.split(' ')))
      acknowledged.set(sessionId ?? '', Number(count))
  })
  await new Promise((resolve) => child.on('close', resolve))
  return acknowledged
}

async function readNumbers(
  store: Awaited<ReturnType<typeof openJsonlEventStore>>,
  sessionId: string,
): Promise<number[]> {
  const numbers: number[] = []
  for await (const batch of store.read(sessionId))
    for (const { event } of batch) numbers.push(Number.parseInt((event as { text: string }).text, 10))
  return numbers
}
