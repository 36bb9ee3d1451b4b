import { MatrixError, printableLine } from '@matrix/protocol'

/** How many, as it stands on the command line: a whole number of at least one. */
export function readCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not a number of things.`, {
    hint: 'Give a whole number from 1 on.',
  })
}
