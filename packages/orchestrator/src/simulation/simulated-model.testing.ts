import { createAnthropicAdapter, type ProviderAdapter } from '@matrix/provider-loop'
import type { Mortal } from './mortal.testing.ts'

/** What a model answers; the request is the whole of what it knows. */
export type Model = (request: { sessionId: string; messages: ModelMessage[] }) => ModelAnswer
export type ModelMessage = { role: 'user' | 'assistant'; content: ModelBlock[] }
export type ModelBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> }
  | { type: 'tool_result'; tool_use_id: string; content: { type: 'text'; text: string }[] }
export type ModelAnswer = {
  text?: string
  /** A call without an id gets one that no other has. */
  calls?: { id?: string; name: string; input?: Record<string, unknown> }[]
}

export const MODEL = 'claude-sonnet-4-6'
/** Known beforehand: looking it up would read a real file. */
const pricing = { [MODEL]: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, contextWindow: 200_000 } }

/** A provider that plays a model. `onRequest` hears of every request, as it would go over the wire. */
export function simulateProvider(
  model: Model,
  { step }: Mortal,
  onRequest: (request: { sessionId: string; text: string }) => void,
): ProviderAdapter {
  const base = createAnthropicAdapter({ apiKey: 'none', baseUrl: 'http://unused.invalid', pricing })
  return {
    ...base,
    supportsTokenCounting: false,
    getModelPricing: async (name) => (name === MODEL ? pricing[MODEL] : undefined),
    getContextWindow: async () => 200_000,
    async callAPI({ sessionId, signal, model: name, messages: { closed, open } }, onText) {
      const text = `${Buffer.from(closed)}${open}`
      onRequest({ sessionId, text })
      const messages: ModelMessage[] = JSON.parse(`[${text}]`)
      const answer = await step('model', () => model({ sessionId, messages }))
      if (signal.aborted) throw signal.reason
      const turns = messages.filter(({ role }) => role === 'assistant').length
      const calls = (answer.calls ?? []).map((call, index) => ({
        callId: call.id ?? `${sessionId.slice(-5)}-${turns}-${index}`,
        name: call.name,
        input: call.input ?? {},
      }))
      onText(answer.text ?? '')
      return {
        text: answer.text ?? '',
        calls,
        model: name,
        usage: { inputTokens: 10, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 },
        stopReason: calls.length > 0 ? 'tool_use' : 'end_turn',
      }
    },
  }
}
