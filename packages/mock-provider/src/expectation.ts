import { type ApiRequest, joinText, sinceLastAnswer, Violation } from './api-request.ts'
import type { Assertion, Capture, TextPattern, Turn } from './playbook.ts'
import type { PromptUsage } from './prompt-cache.ts'
import { formatPattern, matchesText } from './text-pattern.ts'

/**
 * Takes from a request what its turn wants to remember, and throws `Violation` when the request is not what the
 * turn expects. Without `prompt` nothing is said about the cache.
 */
export function checkExpectation(
  { capture, assert }: Turn,
  request: ApiRequest,
  { variables, where, prompt }: { variables: Map<string, string>; where: string; prompt?: PromptUsage },
): void {
  captureValues(capture, request, variables)
  if (assert) checkAssertion(assert, request, prompt, variables, where)
}

function captureValues(
  captures: Record<string, Capture> | undefined,
  request: ApiRequest,
  variables: Map<string, string>,
): void {
  for (const [name, { from, pattern }] of Object.entries(captures ?? {})) {
    const match = new RegExp(pattern).exec(textOf(request, from))
    if (!match) throw new Violation(`capture of "${name}": ${String(pattern)} is not in ${from}`)
    variables.set(name, match[1] ?? match[0])
  }
}

function textOf(request: ApiRequest, from: Capture['from']): string {
  if (from === 'system') return request.system
  const kind = from === 'toolResults' ? 'tool_result' : 'text'
  return joinText(sinceLastAnswer(request).filter((block) => block.kind === kind))
}

function checkAssertion(
  assertion: Assertion,
  request: ApiRequest,
  prompt: PromptUsage | undefined,
  variables: ReadonlyMap<string, string>,
  where: string,
): void {
  const failed = (what: string) => new Violation(`${where}: ${what}`)
  const expectText = (what: string, pattern: TextPattern, text: string) => {
    if (!matchesText(pattern, text, variables))
      throw failed(`${what} should match ${formatPattern(pattern)} but is ${JSON.stringify(text.slice(0, 2000))}`)
  }
  const said = sinceLastAnswer(request)

  if (assertion.system !== undefined) expectText('the system prompt', assertion.system, request.system)
  if (assertion.model !== undefined) expectText('the model', assertion.model, request.model)
  for (const pattern of [assertion.userText ?? []].flat())
    expectText('the user text', pattern, joinText(said.filter((block) => block.kind === 'text')))
  for (const pattern of assertion.heard ?? [])
    expectText('what was heard so far', pattern, joinText(request.blocks.filter((block) => block.role !== 'assistant')))
  for (const name of assertion.tools ?? [])
    if (!request.toolNames.includes(name))
      throw failed(`the tool ${name} should be on offer; there are ${request.toolNames.join(', ') || 'none'}`)
  if (assertion.toolResults) {
    const results = said.filter((block) => block.kind === 'tool_result')
    if (results.length !== assertion.toolResults.length)
      throw failed(`${assertion.toolResults.length} tool results should be here, there are ${results.length}`)
    for (const [index, pattern] of assertion.toolResults.entries())
      expectText(`tool result ${index + 1}`, pattern, results[index]?.text ?? '')
  }
  const images = request.blocks.filter((block) => block.kind === 'image').length
  if (assertion.images !== undefined && images !== assertion.images)
    throw failed(`${assertion.images} images should be here, there are ${images}`)
  if (prompt && assertion.cachedShare !== undefined && cachedShare(prompt) < assertion.cachedShare)
    throw failed(
      `at least ${assertion.cachedShare} of the prompt should come from the cache, it is ${cachedShare(prompt).toFixed(3)}`,
    )
}

function cachedShare({ inputTokens, cacheReadTokens, cacheWriteTokens }: PromptUsage): number {
  return cacheReadTokens / (inputTokens + cacheReadTokens + cacheWriteTokens)
}
