import type { DurableEvent } from '@matrix/protocol'
import { isHostCovered } from '@matrix/tool-manager'

/** What the arguments of a call say of where it goes. */
export type Addressed = {
  urls: URL[]
  /** Whether there is more in the arguments than addresses, numbers and words of a few letters: something that carries data. */
  hasMore: boolean
}

const short = /^[a-z-]{0,10}$/i
const hostKey = /(?:^|_|-)(?:url|urls|uri|endpoint|host|hostname|domain|proxy)$/i

export function readAddresses(input: Record<string, unknown>): Addressed {
  const found: Addressed = { urls: [], hasMore: false }
  for (const [key, value] of Object.entries(input))
    for (const part of Array.isArray(value) ? value : [value]) {
      const url = typeof part === 'string' ? parseAddress(part, hostKey.test(key)) : undefined
      if (url) found.urls.push(url)
      else if (typeof part === 'object' && part !== null) found.hasMore ||= Object.keys(part).length > 0
      else if (typeof part === 'string') found.hasMore ||= !short.test(part)
    }
  return found
}

function parseAddress(text: string, isAddress: boolean): URL | undefined {
  const spelled = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : isAddress ? `https://${text}` : ''
  return URL.canParse(spelled) ? new URL(spelled) : undefined
}

/**
 * Whether an address was known before anything untrusted was read, or came from the user: then who asks for it tells nobody
 * more than they know. Reading on within a site counts too, by links as they stand on its pages and without a query.
 */
export function isKnownAddress(url: URL, events: readonly DurableEvent[], hosts: readonly string[]): boolean {
  if (url.username || url.password) return false
  const destination = destinationOf(url)
  if (
    isHostCovered(
      hosts.filter((host) => host !== '*'),
      destination,
    )
  )
    return true
  const first = events.findIndex((event) => 'origin' in event && event.origin?.trusted === false)
  const vouching = events.filter((event, index) => index < first || isUsers(event)).map(wordsOf)
  if (vouching.some((words) => mentions(words, url))) return true
  if (url.search) return false
  return events.some((event) => isPageOf(event, destination) && mentionsPath(wordsOf(event), url))
}

function destinationOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`
}

function isUsers(event: DurableEvent): boolean {
  return event.type === 'compacted_resume' || ('origin' in event && event.origin?.source === 'user')
}

function isPageOf(event: DurableEvent, destination: string): boolean {
  return event.type === 'tool_result' && (event.origin?.hosts?.includes(destination) ?? false)
}

/** What was said. A conversation that was summed up keeps the user's own words. */
function wordsOf(event: DurableEvent): string {
  if (event.type === 'tool_result')
    return event.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  if (event.type === 'message') return JSON.stringify(event.message)
  if (event.type === 'compacted_resume') return (event.requests ?? []).join('\n')
  if (event.type === 'notice' || event.type === 'assistant_text') return event.text
  if (event.type === 'task_started') return `${event.title}\n${event.description ?? ''}`
  if (event.type === 'tool_call') return JSON.stringify(event.input)
  if (event.type === 'clarification_answered') return event.answer
  return ''
}

/** As a whole: an address that only begins like one that was said carries more than was said. */
function mentions(words: string, url: URL): boolean {
  const plain = url.href.replace(/#.*$/, '').replace(/\/$/, '')
  return standsIn(words, plain) || standsIn(words, plain.replace(/^https?:\/\//, ''))
}

function mentionsPath(words: string, url: URL): boolean {
  return url.pathname === '/' || standsIn(words, url.pathname) || mentions(words, url)
}

const goesOn = /[\w/?&=%~+-]/

function standsIn(words: string, text: string): boolean {
  for (let at = words.indexOf(text); at >= 0; at = words.indexOf(text, at + 1)) {
    const next = words
      .slice(at + text.length)
      .replace(/^\/(?![\w?])/, '')
      .replace(/^\.(?!\w)/, '')
    if (!goesOn.test(next[0] ?? ' ')) return true
  }
  return false
}
