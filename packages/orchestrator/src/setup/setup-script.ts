import { createHash } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'

/** A script as it is shown, approved and run, and what was changed to make it so. */
export type SetupScript = { text: string; notes: string[] }

const MAX_BYTES = 256 * 1024

/** Reads a script that a user or a repository gives. What is approved is exactly the text that this answers. */
export function readScript(given: Uint8Array | string, name: string): SetupScript {
  const bytes = typeof given === 'string' ? Buffer.from(given) : given
  if (bytes.length > MAX_BYTES) throw invalid(`${name} has ${bytes.length} bytes; at most ${MAX_BYTES} are accepted`)
  const text = decode(bytes, name)
  if (text.includes('\0')) throw invalid(`${name} is not text: it holds a NUL character`)
  const bare = text.replace(/^\uFEFF+/, '')
  const unix = bare.replace(/\r+(?=\n|$)/g, '')
  const notes = [
    ...(bare === text ? [] : [`The byte order mark of ${name} was removed`]),
    ...(unix === bare ? [] : [`CRLF line ends of ${name} became LF`]),
  ]
  return { text: unix === '' || unix.endsWith('\n') ? unix : `${unix}\n`, notes }
}

/** Whether a script has nothing to run: it is empty, or all of it is comments. */
export function isBlank(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(#.*)?$/.test(line))
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The program and its first arguments that a script names in its first line, as the kernel reads it. */
export function interpreterOf(text: string): [program: string, ...args: string[]] {
  const [, program = '', argument = ''] = /^#![ \t]*(\/\S+)[ \t]*([^\n]*?)[ \t]*(?:\n|$)/.exec(text) ?? []
  if (program === '') return ['/bin/sh']
  return argument === '' ? [program] : [program, argument]
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw invalid(`${name} is not UTF-8 text`, cause)
  }
}

function invalid(message: string, cause?: unknown): MatrixError {
  return new MatrixError('SETUP_INVALID', message, { cause })
}
