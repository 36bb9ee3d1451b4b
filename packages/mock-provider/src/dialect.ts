import { createHash } from 'node:crypto'
import type { ApiRequest, DialectName } from './api-request.ts'
import { Violation } from './api-request.ts'
import type { PromptUsage } from './prompt-cache.ts'

export type ReplyCall = { id: string; name: string; arguments: string }

export type ResolvedPart = { itemId: string | undefined } & (
  | { kind: 'thinking'; text: string; signature: string }
  | { kind: 'redacted_thinking'; data: string }
  | { kind: 'text'; text: string }
  | { kind: 'tool_call'; call: ReplyCall }
)

/** An answer with every choice made, ready to be put into the words of one API. */
export type Reply = {
  id: string
  model: string
  parts: ResolvedPart[]
  refusal: string | undefined
  stopReason: string
  usage: PromptUsage & { outputTokens: number }
  chunkSize: number
}

/** One API: how its requests are read and checked, and how it answers. */
export type Dialect = {
  name: DialectName
  /** Throws `Violation` for what the real API would refuse. */
  read(body: Record<string, unknown>): ApiRequest
  /** The answer as server-sent events, each complete. */
  stream(reply: Reply): string[]
  /** The answer in one piece, for requests that do not stream. */
  whole(reply: Reply): object
  error(violation: Violation): object
  /** An error that arrives inside a stream. */
  errorEvent(type: string, message: string): string
}

export function pieces(text: string, size: number): string[] {
  const characters = [...text]
  const result: string[] = []
  for (let start = 0; start < characters.length; start += size)
    result.push(characters.slice(start, start + size).join(''))
  return result
}

/** What a thinking block is signed with, so that a changed one is found out. */
export function signThinking(text: string): string {
  return `mock:${createHash('sha256').update(text).digest('base64')}`
}

type Json = Record<string, unknown>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objects(value: unknown, path: string): Json[] {
  if (!Array.isArray(value)) throw new Violation(`${path}: Input should be a valid list`)
  for (const [index, item] of value.entries())
    if (!isObject(item)) throw new Violation(`${path}.${index}: Input should be a valid dictionary`)
  return value
}

export function text(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new Violation(`${path}: Input should be a valid string`)
  return value
}

/** The rules both vendors have for what a tool may be called and what its parameters may look like. */
export function checkToolSchema(schema: unknown, complain: (what: string) => Violation): void {
  if (!isObject(schema)) throw complain('must be an object')
  if (schema.type !== 'object')
    throw complain(`must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema.type ?? null)}'`)
  if (schema.properties !== undefined && !isObject(schema.properties)) throw complain(`'properties' must be an object`)
  if (schema.required === undefined) return
  if (!Array.isArray(schema.required)) throw complain(`'required' must be a list`)
  for (const name of schema.required)
    if (!isObject(schema.properties) || !(String(name) in schema.properties))
      throw complain(`'required' names ${JSON.stringify(name)}, which is not a property`)
}

export function checkUnique(values: string[], complain: (value: string) => Violation): void {
  const seen = new Set<string>()
  for (const value of values) {
    if (seen.has(value)) throw complain(value)
    seen.add(value)
  }
}
