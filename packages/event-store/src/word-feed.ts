import { eventText } from './event-text.ts'
import { hasErrorCode } from './file-system.ts'
import { removeDatabase } from './index-database.ts'
import type { SessionRow } from './index-tables.ts'
import type { LineBatch, SeqPlace } from './session-reader.ts'
import { storageError } from './session-writer.ts'
import { isKnown } from './stored-event.ts'
import { openWords, type Words } from './words.ts'
import type { Entry, FoundEntry, Source, WordsQuery } from './words-thread.ts'

/** Hands what sessions say to the thread that makes it searchable. Whatever goes wrong there, the next call starts afresh. */
export type WordFeed = {
  /** Forgets the words of sessions that are gone or are no longer what they were. */
  align(rows: SessionRow[]): Promise<void>
  /** Whether there is something in the session that cannot be searched yet. */
  lacks(row: SessionRow): boolean
  /** Whether as much of the session can be searched as is known of it. */
  isLevelWith(row: SessionRow): boolean
  /** Takes in what is new in a session, from the lines that follow what it has. */
  read(row: SessionRow, lines?: AsyncIterable<LineBatch>): Promise<void>
  forget(name: string): void
  rename(from: string, to: string): void
  find(query: WordsQuery): Promise<FoundEntry[]>
  /** How many bytes of the sessions can be searched. */
  searched(): number
  commit(): Promise<void>
  close(): Promise<void>
}

export type FeedSources = {
  /** The lines of a session or an archive after a place in it. */
  readLines(row: SessionRow, from: SeqPlace): AsyncIterable<LineBatch>
  sumBefore(row: SessionRow, offset: number): Promise<string>
}

// Small enough that what was appended meanwhile does not wait for long.
const SLICE_EVENTS = 256

export function openWordFeed(file: string, { readLines, sumBefore }: FeedSources): WordFeed {
  let opening: Promise<Words> | undefined
  let words: Words | undefined
  let closed = false

  async function open(): Promise<Words> {
    opening ??= openWords(file).then((opened) => {
      words = opened
      return opened
    })
    return guard(opening)
  }

  // A damaged file is taken away. After any other failure, such as a full disk, what is in memory may be ahead of the file.
  async function guard<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return answer.catch(async (error) => {
      const failed = words
      words = undefined
      opening = undefined
      await failed?.close()
      if (hasErrorCode(error, 'SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CORRUPT_VTAB')) await removeDatabase(file)
      throw storageError(`Cannot use ${file}`, error)
    })
  }

  async function isSame(row: SessionRow, { size, sum }: Source): Promise<boolean> {
    if (size >= row.size || row.archive) return size === row.size ? sum === row.sum : size < row.size
    return (await sumBefore(row, size)) === sum
  }

  return {
    async align(rows) {
      const opened = await open()
      const known = new Map(rows.map((row) => [row.name, row]))
      for (const source of [...opened.sources.values()]) {
        const row = known.get(source.name)
        if (row?.damage || (row && (await isSame(row, source)))) continue
        await guard(opened.forget(source.name))
      }
    },
    lacks: (row) => !row.damage && (words?.sources.get(row.name)?.size ?? 0) < row.size,
    isLevelWith: (row) => !row.damage && words?.sources.get(row.name)?.size === row.size,
    async read(row, lines) {
      const opened = await open()
      let source = opened.sources.get(row.name)
      let adding: Promise<void> | undefined
      const place = { seq: (source?.seq ?? -1) + 1, offset: source?.size ?? 0 }
      // Forgotten or taken away meanwhile: what follows is no longer what these lines are.
      if (lines && place.offset !== row.size) return
      for await (const batch of lines ?? readLines(row, place)) {
        for (const slice of slices(batch, source?.size ?? 0)) {
          await adding
          // Forgotten or taken away while this was read: what follows would be words without their beginning.
          if (closed || opened !== words || opened.sources.get(row.name) !== source) return
          source = { name: row.name, sessionId: row.session_id, size: slice.end, seq: slice.seq, sum: slice.sum }
          adding = guard(opened.add(source, slice.entries))
          // Waited for above; a failure must not count as unheard until then.
          adding.catch(() => undefined)
        }
      }
      await adding
    },
    forget: (name) => void (words && guard(words.forget(name)).catch(() => undefined)),
    rename: (from, to) => void (words && guard(words.rename(from, to)).catch(() => undefined)),
    find: async (query) => guard((await open()).find(query)),
    searched: () => words?.searched() ?? 0,
    commit: async () => words && guard(words.commit()),
    async close() {
      closed = true
      await opening?.catch(() => undefined)
      await words?.close()
    },
  }
}

type Slice = { entries: Entry[]; end: number; seq: number; sum: string }

/** What is said in a batch from an offset on, in pieces. */
function* slices({ lines, starts, end }: LineBatch, from: number): Generator<Slice> {
  for (let at = 0; at < lines.length; at += SLICE_EVENTS) {
    const to = Math.min(at + SLICE_EVENTS, lines.length)
    const last = lines[to - 1]
    const sliceEnd = starts[to] ?? end
    if (!last || sliceEnd <= from) continue
    const entries: Entry[] = []
    for (let index = at; index < to; index += 1) {
      const offset = starts[index] as number
      const { seq, event } = lines[index] as LineBatch['lines'][number]
      const text = offset >= from && event && isKnown(event) ? eventText(event) : ''
      if (text === '') continue
      const { type, ts, taskId: task } = event
      entries.push({ seq, type, ts, task, offset, length: (starts[index + 1] ?? end) - offset - 1, text })
    }
    yield { entries, end: sliceEnd, seq: last.seq, sum: last.sum }
  }
}
