import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { storageError } from './owner-only.ts'

export type Log = { logger: Logger; close(): void }

export type LogOptions = {
  file: string
  /** Also told every line that is written, for whoever looks on. */
  onLine?(line: string): void
  maxBytes?: number
}

/** The daemon's log: JSON lines in a file that only its owner can read, with the one before it kept when it is full. */
export function openLog({ file, onLine, maxBytes = 10 * 1024 * 1024 }: LogOptions): Log {
  let descriptor = openFile(file)
  let size = fstatSync(descriptor).size

  const rotate = () => {
    putAside(file)
    const full = descriptor
    descriptor = openFile(file)
    size = 0
    // Last: the number of a closed file soon belongs to another one.
    closeSync(full)
  }
  const write = (line: string) => {
    const safe = maskSecrets(line)
    onLine?.(safe)
    attempt(() => size > maxBytes && rotate())
    attempt(() => {
      size += writeSync(descriptor, safe)
    })
  }

  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write })
  return { logger, close: () => closeSync(descriptor) }
}

function openFile(file: string): number {
  try {
    return openSync(file, 'a', 0o600)
  } catch (error) {
    throw storageError(error, `Cannot open ${file}`)
  }
}

function putAside(file: string): void {
  try {
    renameSync(file, `${file}.1`)
  } catch (error) {
    // Somebody has deleted it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** A log that cannot be written must not end what it is about. */
function attempt(act: () => unknown): void {
  try {
    act()
  } catch {}
}

const secretShapes = [
  /\b(?:sk|pk|rk|xox[abp]|gh[pousr]|glpat)[-_][A-Za-z0-9_-]{12,}/g,
  /\bAKIA[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
]

/** Nothing here logs a secret on purpose; an error that quotes one from elsewhere is caught on its way out. */
function maskSecrets(line: string): string {
  const headers = line.replace(/(Bearer |x-api-key\\?"?[:=]\s*\\?"?)[A-Za-z0-9._~+/=-]{8,}/gi, '$1[masked]')
  return secretShapes.reduce((text, shape) => text.replace(shape, '[masked]'), headers)
}
