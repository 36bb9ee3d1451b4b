import * as z from 'zod'
import { TreeChange } from './tree.ts'
import { damaged, sumOf } from './tree-file.ts'

/** What one mutation changed. Lines count up without a gap, so a missing one is noticed. */
export type JournalEntry = { seq: number; changes: TreeChange[] }

/** `bytes` is how much of the file holds whole entries; what follows was never acknowledged. */
export type Journal = { entries: JournalEntry[]; bytes: number }

const Entry = z.object({ seq: z.int().positive(), changes: z.array(TreeChange).min(1) })
const lineShape = /^(.*),"sum":"([0-9a-f]{32})"}$/s

export function formatEntry(entry: JournalEntry): string {
  const body = JSON.stringify(entry).slice(0, -1)
  return `${body},"sum":"${sumOf(body)}"}\n`
}

/**
 * A crash can tear only the last line: it lacks its newline, or holds blocks that were never written. Any other line that
 * is wrong was altered after it was acknowledged.
 */
export function parseJournal(bytes: Uint8Array, file: string): Journal {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = content.lastIndexOf(0x0a) + 1
  const lines = content.subarray(0, end).toString('utf8').split('\n').slice(0, -1)
  const entries: JournalEntry[] = []
  let length = 0

  for (const [index, line] of lines.entries()) {
    const isTorn = index === lines.length - 1 && line.includes('\0')
    if (isTorn) break
    entries.push(parseEntry(line, `${file}:${index + 1}`, entries.at(-1)))
    length += Buffer.byteLength(line) + 1
  }
  return { entries, bytes: length }
}

function parseEntry(line: string, place: string, before: JournalEntry | undefined): JournalEntry {
  const [, body, sum] = lineShape.exec(line) ?? []
  if (body === undefined || sumOf(body) !== sum) throw damaged(place, 'the line does not match its checksum')
  const entry = Entry.safeParse(JSON.parse(`${body}}`))
  if (!entry.success) throw damaged(place, entry.error.issues[0]?.message ?? 'the line has an unknown shape')
  if (before && entry.data.seq !== before.seq + 1)
    throw damaged(place, `line ${entry.data.seq} follows ${before.seq}: some lines are missing`)
  return entry.data as JournalEntry
}
