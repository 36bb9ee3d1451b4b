import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { readCount } from '../count.ts'
import { daemonLogFile } from '../daemon-process.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { interruptSignal } from '../interrupt.ts'
import { colorsFor, print } from '../terminal.ts'

type LogOptions = { last?: string; follow?: boolean; json?: boolean }

const TAIL_BYTES = 1 << 20
const LOOK_EVERY_MS = 250

/** What the daemon wrote down, from its end; then, if wanted, what it goes on to write. */
export async function logs({ last = '50', follow, json }: LogOptions): Promise<ExitCode> {
  const count = readCount(last)
  const path = daemonLogFile()
  const file = await open(path).catch((cause) => {
    throw new MatrixError('DOCUMENT_UNREADABLE', `There is no log at ${path}.`, {
      hint: 'Start the daemon with matrix daemon start.',
      cause,
    })
  })
  const show = (line: string) => print(json ? printable(line) : formatEntry(line))
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - TAIL_BYTES)
    const lines = (await readFrom(file, from, size))
      .trimEnd()
      .split('\n')
      .slice(from > 0 ? 1 : 0)
    for (const line of lines.slice(-count)) if (line !== '') show(line)
    if (!follow) return exitCode.ok
    await followFile(file, size, show)
    return exitCode.interrupted
  } finally {
    await file.close()
  }
}

async function followFile(file: FileHandle, start: number, show: (line: string) => void): Promise<void> {
  const signal = interruptSignal()
  let at = start
  let rest = ''
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    const { size } = await file.stat()
    if (size <= at) continue
    const lines = (rest + (await readFrom(file, at, size))).split('\n')
    rest = lines.pop() ?? ''
    at = size
    for (const line of lines) show(line)
  }
}

async function readFrom(file: FileHandle, from: number, to: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from)
  return buffer.toString('utf8', 0, bytesRead)
}

type Entry = { time?: string; level?: number; msg?: string; err?: { message?: string } }

/** One line for a person; a line that is not the daemon's own stays as it is. */
function formatEntry(line: string): string {
  const { dim, yellow, red } = colorsFor(process.stdout)
  const entry = parseEntry(line)
  if (!entry) return printable(line)
  const { time = '', level = 30, msg = '', err, ...facts } = entry
  const paint = level >= 50 ? red : level >= 40 ? yellow : (text: string) => text
  const rest = Object.entries(facts).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  const message = [msg, err?.message].filter(Boolean).join(': ')
  return [dim(time.slice(0, 19).replace('T', ' ')), paint(printableLine(message)), dim(printableLine(rest.join(' ')))]
    .join('  ')
    .trimEnd()
}

function parseEntry(line: string): Entry | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
