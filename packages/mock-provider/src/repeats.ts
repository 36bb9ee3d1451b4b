import { type ApiRequest, type Block, Violation } from './api-request.ts'

/** Nothing is said to a model twice, however much stands in between: a conversation that does was rebuilt wrongly. */
export function checkRepeats({ blocks }: ApiRequest): void {
  const paths = new Map<string, string>()
  for (const block of blocks.filter(isSaid)) {
    const before = paths.get(block.bytes)
    if (before !== undefined)
      throw new Violation(
        `${block.path}: the same message as ${before}: ${JSON.stringify(block.text.slice(0, 80))}. If a user really says it twice, give the conversation "repeats": true`,
      )
    paths.set(block.bytes, block.path)
  }
}

/** Results have ids, which are checked by the rules of each API; what the model said is the script's own. */
function isSaid({ role, kind }: Block): boolean {
  return role === 'user' && kind === 'text'
}
