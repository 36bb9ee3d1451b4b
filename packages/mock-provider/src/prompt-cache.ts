import { createHash } from 'node:crypto'
import type { ApiRequest } from './api-request.ts'

/** How a prompt's tokens were read and stored. Together they are the whole prompt. */
export type PromptUsage = { inputTokens: number; cacheReadTokens: number; cacheWriteTokens: number }

/** Looks back so many blocks from each breakpoint for a stored prefix, as the Messages API does. */
const lookback = 20

/** Plays the provider's prompt cache: what was sent before, up to a breakpoint, costs less the next time. */
export function createPromptCache(): { read(request: ApiRequest): PromptUsage } {
  const stored = new Set<string>()

  return {
    read(request) {
      const { keys, tokens } = prefixes(request)
      const marked = breakpoints(request)
      const hit = longestHit(keys, marked, stored)
      for (const index of marked) stored.add(keys[index] ?? '')

      const total = tokens.at(-1) ?? 0
      const cacheReadTokens = hit < 0 ? 0 : (tokens[hit] ?? 0)
      const lastMark = marked.at(-1)
      const cachedUpTo =
        request.dialect === 'anthropic' && lastMark !== undefined ? (tokens[lastMark] ?? 0) : cacheReadTokens
      return { cacheReadTokens, cacheWriteTokens: cachedUpTo - cacheReadTokens, inputTokens: total - cachedUpTo }
    },
  }
}

/** A rough count: a token is about four bytes. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4)
}

/** For the preamble and then each block: what identifies the prompt up to there, and its length in tokens. */
function prefixes(request: ApiRequest): { keys: string[]; tokens: number[] } {
  const hash = createHash('sha256').update(request.model).update(request.preamble)
  const keys = [hash.copy().digest('base64')]
  const tokens = [countTokens(request.preamble)]
  for (const block of request.blocks) {
    hash.update(block.bytes)
    keys.push(hash.copy().digest('base64'))
    tokens.push((tokens.at(-1) ?? 0) + countTokens(block.bytes))
  }
  return { keys, tokens }
}

/** The OpenAI APIs cache on their own, so that every block is as good as marked. */
function breakpoints(request: ApiRequest): number[] {
  const marked = request.blocks.flatMap((block, index) =>
    block.breakpoint || request.dialect !== 'anthropic' ? [index + 1] : [],
  )
  return request.preambleBreakpoint || request.dialect !== 'anthropic' ? [0, ...marked] : marked
}

function longestHit(keys: string[], marked: number[], stored: ReadonlySet<string>): number {
  for (const mark of marked.toReversed())
    for (let index = mark; index >= Math.max(0, mark - lookback); index -= 1)
      if (stored.has(keys[index] ?? '')) return index
  return -1
}
