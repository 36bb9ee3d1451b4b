import { type ApiRequest, Violation } from './api-request.ts'

/**
 * A conversation only ever grows: a request that changes what an earlier one said misses the provider's cache,
 * and usually means that the conversation was rebuilt wrongly.
 */
export function checkPrefix(before: ApiRequest, now: ApiRequest): void {
  if (before.dialect !== now.dialect) return
  if (before.preamble !== now.preamble)
    throw broken('The system prompt or the tools changed', before.preamble, now.preamble)

  for (const [index, block] of before.blocks.entries()) {
    const same = now.blocks[index]
    if (!same) throw broken(`${block.path} is gone: the conversation became shorter`, block.bytes, '')
    if (same.bytes !== block.bytes || same.role !== block.role)
      throw broken(`${same.path} (${same.role} ${same.kind}) changed`, block.bytes, same.bytes)
  }
}

function broken(what: string, before: string, now: string): Violation {
  return new Violation(`prefix consistency: ${what}.\n${describeDifference(before, now)}`)
}

/** The place where two texts part, with a little of what stands around it. */
function describeDifference(before: string, now: string): string {
  let at = 0
  while (at < before.length && before[at] === now[at]) at += 1
  const from = Math.max(0, at - 40)
  const excerpt = (text: string) =>
    `${from > 0 ? '…' : ''}${text.slice(from, at + 80)}${text.length > at + 80 ? '…' : ''}`
  return `  at character ${at}\n  before: ${excerpt(before)}\n  now:    ${excerpt(now)}`
}
