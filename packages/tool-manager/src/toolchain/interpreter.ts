import { closeSync, constants, openSync, readSync } from 'node:fs'

/** What a script asks to be run by, in its first line; undefined for anything else. */
export function findInterpreter(file: string): string | undefined {
  const line = readStart(file)
  const [, program] = /^#![ \t]*(\/[^\s]+)/.exec(line) ?? []
  return program
}

/** The first bytes, without waiting for a pipe that was put in place of the file. */
function readStart(file: string): string {
  let handle: number | undefined
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const bytes = Buffer.alloc(256)
    return bytes.toString('latin1', 0, readSync(handle, bytes, 0, bytes.length, 0))
  } catch {
    return ''
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}
