import type { Block } from './api-request.ts'

/** What was said to a model, and what it answered. */
export type Exchange = { said: Block[]; answer: Block[] }

/** A conversation as exchanges, oldest first; the last one has no answer yet. */
export function readExchanges(blocks: Block[]): Exchange[] {
  const exchanges: Exchange[] = []
  let current: Exchange = { said: [], answer: [] }
  for (const block of blocks) {
    if (block.role === 'assistant') current.answer.push(block)
    else {
      if (current.answer.length > 0) {
        exchanges.push(current)
        current = { said: [], answer: [] }
      }
      current.said.push(block)
    }
  }
  return [...exchanges, current]
}
