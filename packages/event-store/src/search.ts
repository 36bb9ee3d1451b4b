import type { DurableEvent } from '@matrix/protocol'
import { eventText } from './event-text.ts'
import { findSnippet, formatMatch, parseSearch, type Snippet } from './search-query.ts'
import type { SeqPlace } from './session-reader.ts'
import type { Database } from './sqlite.ts'

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
  complete: boolean
}

/** Where an event is, for the one who fetches its text. */
export type EventPlace = SeqPlace & { sessionId: string; archive: string | null; length: number }

type Found = EventPlace & { id: number; type: string; ts: string }

/** Looks words up. The texts themselves are only in the sessions, so each hit's text is fetched from there. */
export async function search(
  database: Database,
  text: string,
  filter: SearchFilter,
  fetch: (places: EventPlace[]) => Promise<(DurableEvent | undefined)[]>,
): Promise<Omit<SearchResult, 'complete'>> {
  const terms = parseSearch(text)
  if (terms.length === 0) return { hits: [], next: undefined }
  const { limit = 20 } = filter
  const found = findEntries(database, formatMatch(terms, 'text'), { ...filter, limit: limit + 1 })
  const page = found.slice(0, limit)
  const events = await fetch(page)
  const hits = page.map(({ sessionId, seq, type, ts }, index): SearchHit => {
    const event = events[index]
    return { sessionId, seq, type, ts, snippet: findSnippet(event ? eventText(event) : '', terms) }
  })
  return { hits, next: found.length > limit ? found[limit - 1]?.id : undefined }
}

function findEntries(database: Database, match: string, filter: SearchFilter & { limit: number }): Found[] {
  const { sessionId, taskId, types, since, until, after, limit } = filter
  // Session, task and type are words of their own columns, so the index itself skips what does not match.
  const expression = [
    match,
    ...(sessionId ? [`session : ${quote(sessionId)}`] : []),
    ...(taskId ? [`task : ${quote(taskId)}`] : []),
    ...(types?.length ? [`type : (${types.map(quote).join(' OR ')})`] : []),
  ].join(' AND ')
  const conditions = [
    ['entry.ts >= ?', since],
    ['entry.ts < ?', until],
    ['session.session_id = ?', sessionId],
    ['said.rowid < ?', after],
  ].filter(([, value]) => value !== undefined)
  return database
    .prepare(`SELECT entry.id, session.session_id AS sessionId, session.archive, entry.seq, entry.type, entry.ts, entry.offset, entry.length
      FROM said JOIN entry ON entry.id = said.rowid JOIN session ON session.id = entry.session
      WHERE said MATCH ? ${conditions.map(([condition]) => `AND ${condition}`).join(' ')}
      ORDER BY said.rowid DESC LIMIT ?`)
    .all(expression, ...conditions.map(([, value]) => value), limit) as Found[]
}

function quote(word: string): string {
  return `"${word.replaceAll('"', '""')}"`
}
