import type { DurableEvent } from '@matrix/protocol'
import { eventText } from './event-text.ts'
import { findSnippet, formatMatch, parseSearch, type Snippet } from './search-query.ts'
import type { SeqPlace } from './session-reader.ts'
import type { FoundEntry, WordsQuery } from './words-thread.ts'

export type SearchFilter = {
  sessionId?: string
  taskId?: string
  types?: DurableEvent['type'][]
  /** ISO moments; `until` itself does not count. */
  since?: string
  until?: string
  limit?: number
  /** Where the page before this one ended. */
  after?: number
}

export type SearchHit = { sessionId: string; seq: number; type: string; ts: string; snippet: Snippet }

export type SearchResult = {
  hits: SearchHit[]
  /** Give it as `after` for the next page; undefined when there is none. */
  next: number | undefined
  /** Whether everything stored by now was searched. */
  complete: boolean
  /** How much of the sessions was searched, in bytes. */
  progress: { done: number; total: number }
}

/** Where an event is, for the one who fetches its text. */
export type EventPlace = SeqPlace & { sessionId: string; archive: string | null; length: number }

/** Where the words are looked up, whose they are, and where the texts themselves come from. */
export type SearchParts = {
  find(query: WordsQuery): Promise<FoundEntry[]>
  /** What is known of a session by the name it has in the index; nothing when it is gone by now. */
  origin(name: string): { sessionId: string; archive: string | null } | undefined
  fetch(places: EventPlace[]): Promise<(DurableEvent | undefined)[]>
}

/** Looks words up. The texts themselves are only in the sessions, so each hit's text is fetched from there. */
export async function search(
  { find, origin, fetch }: SearchParts,
  text: string,
  filter: SearchFilter,
): Promise<Pick<SearchResult, 'hits' | 'next'>> {
  const terms = parseSearch(text)
  if (terms.length === 0) return { hits: [], next: undefined }
  const { limit = 20 } = filter
  const found = await find(wordsQuery(formatMatch(terms, 'text'), filter, limit + 1))
  const page = found.slice(0, limit).flatMap((entry) => {
    const from = origin(entry.name)
    return from ? [{ ...entry, ...from }] : []
  })
  const events = await fetch(page)
  const hits = page.map(({ sessionId, seq, type, ts }, index): SearchHit => {
    const event = events[index]
    return { sessionId, seq, type, ts, snippet: findSnippet(event ? eventText(event) : '', terms) }
  })
  return { hits, next: found.length > limit ? found[limit - 1]?.id : undefined }
}

function wordsQuery(match: string, filter: SearchFilter, limit: number): WordsQuery {
  const { sessionId = null, taskId, types, since = null, until = null, after: below = Number.MAX_SAFE_INTEGER } = filter
  // Session, task and type are words of their own columns, so the index itself skips what does not match.
  const expression = [
    match,
    ...(sessionId ? [`session : ${quote(sessionId)}`] : []),
    ...(taskId ? [`task : ${quote(taskId)}`] : []),
    ...(types?.length ? [`type : (${types.map(quote).join(' OR ')})`] : []),
  ].join(' AND ')
  return { match: expression, sessionId, since, until, below, limit }
}

function quote(word: string): string {
  return `"${word.replaceAll('"', '""')}"`
}
