import type { TokenUsage } from '@matrix/protocol'
import type { Ports } from './ports.ts'

/** What to do about a call that failed. */
export type Failure = {
  /** `retry`: ask again later. `elsewhere`: another key or model may do. `final`: asking again is no use. */
  remedy: 'retry' | 'elsewhere' | 'final'
  message: string
  /** What a person can do once the loop has given up. */
  hint: string
  contextExceeded: boolean
  isModelUnknown: boolean
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

/** An answer of something that is no model API: a sign-in page, a proxy, another program on that port. */
export class ForeignAnswer extends Error {
  override readonly name = 'ForeignAnswer'
}

/** As Anthropic, OpenAI, vLLM, llama.cpp and LM Studio put it. */
const tooLong =
  /prompt is too long|context_length_exceeded|maximum context length|exceed.{1,40}context|greater than the context length/i
const unpaid = /insufficient_quota|billing|credit balance/i

type Kind = Pick<Failure, 'remedy' | 'hint'>

const kinds = {
  key: {
    remedy: 'elsewhere',
    hint: 'Check the key: matrix auth status shows where it comes from, matrix auth set replaces it. Then resume the task.',
  },
  unpaid: {
    remedy: 'elsewhere',
    hint: 'Check the balance and limits of the account, or name another provider in fallbackModels. Then resume the task.',
  },
  unknown: {
    remedy: 'elsewhere',
    hint: 'Name another model with matrix config set model <name>, or correct the address of the auth group. Then resume the task.',
  },
  foreign: {
    remedy: 'elsewhere',
    hint: 'Correct the address of the auth group (matrix auth status shows it): it must lead to the API itself. Then resume the task.',
  },
  busy: {
    remedy: 'retry',
    hint: 'Resume the task when the provider works again, or name another one in fallbackModels.',
  },
  unreachable: {
    remedy: 'retry',
    hint: 'Check the network, and the address of the auth group (matrix auth status shows it). Then resume the task.',
  },
  refused: {
    remedy: 'final',
    hint: 'Change what the provider names, in the settings or in the conversation. Then resume the task.',
  },
} as const satisfies Record<string, Kind>

const kindOfStatus: Record<number, Kind> = {
  401: kinds.key,
  402: kinds.unpaid,
  403: kinds.key,
  404: kinds.unknown,
  408: kinds.busy,
  409: kinds.busy,
  429: kinds.busy,
}

type Source = { status?: number; headers?: unknown; error?: unknown; message?: string; cause?: unknown }

/** A provider that asks for more than this is not waited for. */
const longestWaitMs = 3_600_000

/** Reads an error of either SDK. Both keep the status, the headers and the body in the same places. */
export function readFailure(error: unknown): Failure {
  const broken = error instanceof BrokenAnswer ? error : undefined
  const source = (broken?.cause ?? error) as Source
  const message = broken && broken.cause === undefined ? broken.message : describe(source)
  const kind = kindOf(source)
  const retryAfterMs = readRetryAfter(source.headers)
  const isTooLong = retryAfterMs !== undefined && retryAfterMs > longestWaitMs
  return {
    remedy: kind.remedy === 'retry' && isTooLong ? 'elsewhere' : kind.remedy,
    message: isTooLong ? `${message} (it asks to wait for ${Math.round(retryAfterMs / 60_000)} minutes)` : message,
    hint: kind.hint,
    contextExceeded: tooLong.test(message),
    isModelUnknown: kind === kinds.unknown,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(broken?.usage && { usage: broken.usage }),
  }
}

function kindOf(source: Source): Kind {
  const { status, error } = source
  if (source instanceof ForeignAnswer) return kinds.foreign
  if (status === undefined) return error === undefined ? kinds.unreachable : kinds.busy
  const body = JSON.stringify(error ?? '')
  if (unpaid.test(body)) return kinds.unpaid
  if (/model_not_found/.test(body)) return kinds.unknown
  return kindOfStatus[status] ?? (status >= 500 ? kinds.busy : kinds.refused)
}

/** One line, without the request's own content: bodies of errors can be long and carry what was sent. */
function describe(source: Source): string {
  const { status, error } = source
  const said = findMessage(error) ?? findCause(source) ?? 'unknown error'
  const text = status === undefined ? said : said.replace(new RegExp(`^${status} `), '')
  const line = withoutMarkup(text).replaceAll(/\s+/g, ' ').slice(0, 500)
  return status === undefined ? line : `${status} ${line}`
}

function findMessage(error: unknown): string | undefined {
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null) return undefined
  if ('message' in error && typeof error.message === 'string') return error.message
  return 'error' in error ? findMessage(error.error) : undefined
}

/** The SDKs only say "Connection error."; which address refused it stands in the cause, or in the first of several. */
function findCause({ message, cause }: Source): string | undefined {
  if (typeof cause !== 'object' || cause === null) return message
  const [first] = 'errors' in cause && Array.isArray(cause.errors) ? cause.errors : []
  return findCause(first ?? cause) || message
}

/** Of a page, only its title says anything. */
export function withoutMarkup(text: string): string {
  if (!/^\s*<(!doctype|html|head|\?xml)/i.test(text)) return text
  const [, title = ''] = /<title[^>]*>([^<]*)/i.exec(text) ?? []
  return title.trim() === '' ? 'an HTML page' : `an HTML page, “${title.trim()}”`
}

function readRetryAfter(headers: unknown): number | undefined {
  if (!(headers instanceof Headers)) return undefined
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (ms >= 0) return ms
  const asked = headers.get('retry-after') ?? ''
  const wait = /^\s*\d/.test(asked) ? Number.parseFloat(asked) * 1000 : Date.parse(asked) - Date.now()
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
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
