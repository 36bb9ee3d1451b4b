import { MatrixError } from '@matrix/protocol'
import type { Bytes } from './bytes.ts'
import { corrupt, describeDamage } from './damage.ts'
import type { OpenFile } from './file-system.ts'
import { FORMAT_VERSION, type Header, lineHolds } from './line.ts'
import { readBytes } from './span.ts'

/** The format version of a session's file, or undefined when its first line was never finished. */
export async function readVersion(file: OpenFile, path: string, sessionId: string): Promise<number | undefined> {
  const line = await readFirstLine(file)
  if (!line) return undefined
  const first = parse(line)
  if (isBareEvent(first)) return 0
  if (!lineHolds(line, 0, undefined)) {
    if (line.includes(0) && !(await hasLineAfter(file, line))) return undefined
    throw corrupt(await describeDamage(file, path, 0, { from: 0, to: await file.size() }))
  }

  const header = first as Header
  if (header.v > FORMAT_VERSION)
    throw new MatrixError(
      'SESSION_VERSION',
      `${path} is of version ${header.v}; this Matrix reads up to ${FORMAT_VERSION}.`,
    )
  if (header.sessionId !== sessionId)
    throw corrupt({ kind: 'foreign', file: path, line: 1, message: `the file holds session ${header.sessionId}` })
  return header.v
}

/** The header of a file from elsewhere, once it is known to hold. */
export async function readHeader(file: OpenFile): Promise<Header | undefined> {
  const line = await readFirstLine(file)
  return line && lineHolds(line, 0, undefined) ? (parse(line) as Header) : undefined
}

// Before sums and headers a session was its events and nothing else, one per line.
function isBareEvent(line: unknown): boolean {
  return (
    typeof line === 'object' && line !== null && 'type' in line && typeof line.type === 'string' && !('sum' in line)
  )
}

async function readFirstLine(file: OpenFile): Promise<Bytes | undefined> {
  const size = await file.size()
  for (let reach = 1024; ; reach *= 16) {
    const bytes = await readBytes(file, { from: 0, to: Math.min(size, reach) })
    const newline = bytes.indexOf(10)
    if (newline >= 0) return bytes.subarray(0, newline)
    if (reach >= size) return undefined
  }
}

// A power cut in the first append leaves no event whole, so nothing was acknowledged: that is for the tail to cut.
async function hasLineAfter(file: OpenFile, first: Bytes): Promise<boolean> {
  return (await readBytes(file, { from: first.byteLength + 1, to: await file.size() })).includes(10)
}

function parse(line: Bytes): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    return undefined
  }
}
