import { execFileSync, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openJsonlEventStore } from './jsonl-event-store.ts'

const cuts = Number(process.env.MATRIX_POWER_CUTS ?? 2)
/** Gives a program mounts of its own, which are gone with it. */
const apart = 'unshare'
const writer = join(import.meta.dirname, '..', 'fixtures', 'killed-writer.ts')

// Needs root and a kernel that mounts images. Where there is none, the simulated disk is what loses power.
const mountingTest = test.runIf(canMount())

mountingTest(
  `the power fails ${cuts} times under a real file system, and nothing acknowledged is lost`,
  {
    timeout: 60_000 + cuts * 20_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'event-store-power-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    let total = 0
    for (let cut = 0; cut < cuts; cut += 1) {
      const acknowledged = await runAndCut(folder, 20 + ((cut * 53) % 300))
      const store = await openJsonlEventStore(join(folder, 'found', 'sessions'))
      for (const [sessionId, count] of acknowledged) {
        const found = await readNumbers(store, sessionId)
        expect(found.length).toBeGreaterThanOrEqual(count)
        expect(found).toEqual(found.map((_, index) => index + 1))
        total += count
      }
      await store.close()
    }
    expect(total).toBeGreaterThan(cuts)
  },
)

/**
 * Lets a writer work in a file system inside a file, stops it, and takes a copy of that file: what a disk holds when the
 * power fails. The mount is seen by the writer alone and is gone with it.
 */
async function runAndCut(folder: string, afterMs: number): Promise<Map<string, number>> {
  const [image, copy, mounted, found] = ['image', 'copy', 'mounted', 'found'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ]
  await Promise.all([mkdir(mounted, { recursive: true }), rm(found, { recursive: true, force: true })])
  makeImage(image)
  const script = 'mount -o loop "$1" "$2" && mkdir "$2/sessions" && exec "$3" --import "$4" "$5" "$2/sessions"'
  const args = [image, mounted, process.execPath, import.meta.resolve('tsx'), writer]
  const child = spawn(apart, ['-m', 'sh', '-c', script, 'sh', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const acknowledged = new Map<string, number>()
  let rest = ''
  const first = new Promise<void>((resolve) =>
    child.stdout.on('data', (bytes: Buffer) => {
      const lines = `${rest}${bytes}`.split('\n')
      rest = lines.pop() ?? ''
      for (const [sessionId, count] of lines.map((line) => line.split(' ')))
        acknowledged.set(sessionId ?? '', Number(count))
      resolve()
    }),
  )
  await Promise.race([first, ended])
  await wait(afterMs)
  child.kill('SIGSTOP')
  await wait(50)
  const promised = new Map(acknowledged)
  execFileSync('cp', ['--sparse=always', image, copy])
  child.kill('SIGKILL')
  await ended

  // Replays the journal as the next mount would; 1 says that there was something to put right.
  run('e2fsck', ['-p', copy], [0, 1])
  await mkdir(found)
  run('debugfs', ['-R', `rdump /sessions ${found}`, copy])
  return promised
}

function makeImage(path: string): void {
  execFileSync('sh', ['-c', 'rm -f "$1" && truncate -s 64M "$1" && mkfs.ext4 -q -F "$1"', 'sh', path])
}

function run(program: string, args: string[], codes = [0]): void {
  try {
    execFileSync(program, args, { stdio: 'pipe' })
  } catch (error) {
    if (!codes.includes((error as { status?: number }).status ?? -1)) throw error
  }
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    const script = `set -e; f=$(mktemp -d); trap 'rm -rf "$f"' EXIT; truncate -s 4M "$f/image"; mkfs.ext4 -q -F "$f/image"
      mkdir "$f/m"; mount -o loop "$f/image" "$f/m"; umount "$f/m"; command -v e2fsck debugfs`
    execFileSync(apart, ['-m', 'sh', '-c', script], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
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
