import type { TokenUsage } from '@matrix/protocol'
import type { Ports } from './ports.ts'

/** What to do about a call that failed. */
export type Failure = {
  /** `retry`: ask again later. `elsewhere`: another key or model may do. `final`: asking again is no use. */
  remedy: 'retry' | 'elsewhere' | 'final'
  message: string
  contextExceeded: boolean
  retryAfterMs?: number
  /** What the provider had counted before the answer broke off. */
  usage?: TokenUsage
}

/** An answer that broke off. It may have cost something. */
export class BrokenAnswer extends Error {
  override readonly name = 'BrokenAnswer'
  readonly usage: TokenUsage | undefined

  constructor(message: string, usage: TokenUsage | undefined, options?: ErrorOptions) {
    super(message, options)
    this.usage = usage
  }
}

const elsewhere = new Set([401, 402, 403, 404])
const retryable = new Set([408, 409, 429])

/** As Anthropic, OpenAI, vLLM, llama.cpp and LM Studio put it. */
const tooLong =
  /prompt is too long|context_length_exceeded|maximum context length|exceed.{1,40}context|greater than the context length/i
const unpaid = /insufficient_quota|billing|credit balance/i

/** Reads an error of either SDK. Both keep the status, the headers and the body in the same places. */
export function readFailure(error: unknown): Failure {
  const broken = error instanceof BrokenAnswer ? error : undefined
  const source = (broken?.cause ?? error) as { status?: number; headers?: unknown; error?: unknown; message?: string }
  const message = describe(source)
  const retryAfterMs = readRetryAfter(source.headers)
  return {
    remedy: remedyFor(source.status, JSON.stringify(source.error ?? '')),
    message: broken && broken.cause === undefined ? broken.message : message,
    contextExceeded: tooLong.test(message),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(broken?.usage && { usage: broken.usage }),
  }
}

function remedyFor(status: number | undefined, body: string): Failure['remedy'] {
  if (status === undefined) return 'retry'
  if (unpaid.test(body)) return 'elsewhere'
  if (elsewhere.has(status)) return 'elsewhere'
  return retryable.has(status) || status >= 500 ? 'retry' : 'final'
}

/** One line, without the request's own content: bodies of errors can be long and carry what was sent. */
function describe({ status, error, message }: { status?: number; error?: unknown; message?: string }): string {
  const inner = findMessage(error) ?? message ?? 'unknown error'
  const line = inner.replaceAll(/\s+/g, ' ').slice(0, 500)
  return status === undefined ? line : `${status} ${line.replace(new RegExp(`^${status} `), '')}`
}

function findMessage(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('message' in error && typeof error.message === 'string') return error.message
  return 'error' in error ? findMessage(error.error) : undefined
}

function readRetryAfter(headers: unknown): number | undefined {
  if (!(headers instanceof Headers)) return undefined
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (ms >= 0) return ms
  const seconds = Number.parseFloat(headers.get('retry-after') ?? '')
  return seconds >= 0 ? seconds * 1000 : undefined
}

export type RetryPolicy = {
  /** How often one provider is asked for one turn, first time included. */
  attempts: number
  baseMs: number
  maxMs: number
}

/** One and a half to three minutes in all: a provider that is down for one needs nobody. */
export const defaultRetry: RetryPolicy = { attempts: 9, baseMs: 1000, maxMs: 60_000 }

/** What the provider asks for, or twice as long each time; never in step with other agents that failed together. */
export function retryDelayMs(attempt: number, failure: Failure, policy: RetryPolicy, random: Ports['random']): number {
  const backoff = Math.min(policy.baseMs * 2 ** (attempt - 1), policy.maxMs)
  const jitter = 0.5 + random() / 2
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs + random() * policy.baseMs * 0.25
  return backoff * jitter
}
