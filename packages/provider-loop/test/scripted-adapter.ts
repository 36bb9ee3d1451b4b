import { type ApiRequest, checkRequest } from '@matrix/mock-provider'
import { BrokenAnswer } from '../src/failure.ts'
import type { ProviderAdapter, ProviderResponse } from '../src/provider-adapter.ts'
import { createAdapter, type Dialect } from './story.ts'

export type ScriptedAnswer = Pick<ProviderResponse, 'text' | 'calls' | 'stopReason'> | 'broken'

/** A real adapter but for the network: every request is checked as the mock would, and answered at once. */
export function createScriptedAdapter(
  dialect: Dialect,
  answer: (request: string) => ScriptedAnswer,
): ProviderAdapter & { requests: string[]; forget(): void } {
  const adapter = createAdapter(dialect, { url: 'http://unused.invalid', openaiUrl: 'http://unused.invalid/v1' })
  const requests: string[] = []
  let before: ApiRequest | undefined

  return {
    ...adapter,
    requests,
    /** The next request may be a new conversation. */
    forget() {
      before = undefined
    },
    async callAPI({ prepared, messages, model }, onText) {
      const text = `${decode(prepared)}${decode(messages.closed)}${messages.open}],"model":"m","max_tokens":1}`
      before = checkRequest(dialect, JSON.parse(text), before)
      requests.push(text)
      const scripted = answer(text)
      if (scripted === 'broken') {
        onText('half an ans')
        throw new BrokenAnswer('cut', undefined)
      }
      if (scripted.text !== '') onText(scripted.text)
      return {
        ...scripted,
        model,
        usage: { inputTokens: 10, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 },
      }
    },
    supportsTokenCounting: false,
  }
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}
