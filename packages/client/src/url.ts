import type { Method, Operation } from '@matrix/protocol/http'
import { places } from './places.ts'

export type Target = { method: Method; path: string; body: unknown }

/** Where an operation is called with these parameters: what the path does not name goes into the query. */
export function buildTarget(operation: Operation, input: Record<string, unknown> = {}): Target {
  const [method, pattern] = places[operation].split(' ') as [Method, string]
  const { body, ...rest } = input
  const query = new URLSearchParams()
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(rest[name])))

  for (const [name, value] of Object.entries(rest))
    if (value !== undefined && !pattern.includes(`:${name}`)) query.set(name, String(value))
  return { method, path: withQuery(path, query), body }
}

export function withQuery(path: string, query: URLSearchParams): string {
  return query.size > 0 ? `${path}?${query}` : path
}
