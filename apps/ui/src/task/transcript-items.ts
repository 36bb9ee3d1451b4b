import type { DurableEvent } from '@matrix/protocol'
import type { SessionEvent } from '@matrix/protocol/http'
import type { PagesView } from '../live/event-pages.ts'
import { thinkingOf } from './thinking.ts'

type Of<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>
export type AnyEvent = SessionEvent['event']
export type ToolCallEvent = Of<'tool_call'>
export type ToolResult = Of<'tool_result'>
export type MessageEvent = Of<'message'>

/** What a transcript shows from top to bottom: events that are worth a row, and stretches that are not in memory. */
export type Item =
  | { kind: 'row'; key: string; seq: number; event: AnyEvent }
  | { kind: 'gap'; key: string; page: number; events: number; error: string | undefined }

/** Events that speak through another row, or only to the model. Unknown ones are always shown. */
const silent: ReadonlySet<string> = new Set<DurableEvent['type']>([
  'messages_withdrawn',
  // A message stands where it was read, not where it was sent.
  'message',
  // A result belongs to the card of its call.
  'tool_result',
  'turn_completed',
  'session_config',
  'config_requested',
  'summarization_request',
  'compacted_resume',
])

export function toItems({ pages, failed, lastSeq, pageSize }: PagesView): Item[] {
  const count = Math.ceil(lastSeq / pageSize)
  return Array.from({ length: count }, (_, page): Item[] => {
    const events = pages.get(page)
    if (events) return rowsOf(events)
    const size = Math.min(pageSize, lastSeq - page * pageSize)
    return [{ kind: 'gap', key: `gap-${page}`, page, events: size, error: failed.get(page) }]
  }).flat()
}

/** The place of an event among the items: its own row, or the nearest one above that is shown. */
export function indexOfSeq(items: readonly Item[], seq: number, pageSize: number): number {
  let found = -1
  for (const [index, item] of items.entries()) {
    const first = item.kind === 'row' ? item.seq : item.page * pageSize + 1
    if (first > seq) break
    found = index
  }
  return found
}

const rowsOfPage = new WeakMap<readonly SessionEvent[], Item[]>()

function rowsOf(events: readonly SessionEvent[]): Item[] {
  const known = rowsOfPage.get(events)
  if (known) return known
  const rows = events
    .filter(({ event }) => isShown(event))
    .map(({ seq, event }): Item => ({ kind: 'row', key: `event-${seq}`, seq, event }))
  rowsOfPage.set(events, rows)
  return rows
}

function isShown(event: AnyEvent): boolean {
  if (silent.has(event.type)) return false
  if (isEvent(event, 'assistant_text')) return event.text.trim() !== '' || thinkingOf(event.provider) !== ''
  if (isEvent(event, 'messages_consumed')) return event.messageIds.length > 0
  return true
}

/** Narrows an event that may be of a kind this page does not know. */
export function isEvent<Type extends DurableEvent['type']>(event: AnyEvent, type: Type): event is Of<Type> {
  return event.type === type
}

type PageIndex = { results: Map<string, ToolResult>; messages: Map<string, MessageEvent> }
const indexOfPage = new WeakMap<readonly SessionEvent[], PageIndex>()

function indexOf(events: readonly SessionEvent[]): PageIndex {
  const known = indexOfPage.get(events)
  if (known) return known
  const index: PageIndex = { results: new Map(), messages: new Map() }
  for (const { event } of events) {
    if (isEvent(event, 'tool_result')) index.results.set(event.callId, event)
    if (isEvent(event, 'message')) index.messages.set(event.message.id, event)
  }
  indexOfPage.set(events, index)
  return index
}

/** How a call ended, as far as it can be told from what is in memory. */
export type CallState =
  | { state: 'answered'; result: ToolResult }
  /** Nothing was answered up to the end of the session. */
  | { state: 'open' }
  /** The part of the session where the answer may stand is not loaded. */
  | { state: 'unknown' }

export function findCallState(view: PagesView, callId: string, seq: number): CallState {
  const { pages, pageSize, lastSeq } = view
  for (let page = Math.ceil(seq / pageSize) - 1; page * pageSize < lastSeq; page += 1) {
    const events = pages.get(page)
    if (!events) return { state: 'unknown' }
    const result = indexOf(events).results.get(callId)
    if (result) return { state: 'answered', result }
  }
  return { state: 'open' }
}

/** A message that was read at `seq`, if the page on which it arrived is in memory. */
export function findMessage(view: PagesView, messageId: string): MessageEvent | undefined {
  for (const events of view.pages.values()) {
    const message = indexOf(events).messages.get(messageId)
    if (message) return message
  }
  return undefined
}
