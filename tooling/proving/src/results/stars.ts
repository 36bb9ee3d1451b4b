import { type ReadResults, readLines } from './outcome.ts'

const verdict = /^\s*\*\*\* (.+?) (OK|FAILED) \*\*\*$/

/** The lines that zlib's `make test` ends each of its programs with. */
export const readStars: ReadResults = (log) =>
  readLines(log, (line) => {
    const [, name, word] = verdict.exec(line) ?? []
    return name ? [name, word === 'OK' ? 'passed' : 'failed'] : undefined
  })
