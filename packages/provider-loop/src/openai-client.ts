import type OpenAI from 'openai'
import type { AdapterOptions } from './adapter-base.ts'
import { createHttpFetch } from './http-fetch.ts'

export type OpenaiOptions = Omit<AdapterOptions, 'priceProvider'> & {
  apiKey?: string
  /** Of a server that speaks OpenAI's language: vLLM, llama.cpp, Ollama, LM Studio. */
  openaiBaseUrl?: string
  /** How often the SDK itself asks again. Its waiting cannot be interrupted, so the loop does the asking by default. */
  maxRetries?: number
  timeoutMs?: number
}

/** The official SDK, loaded with the first call. */
export function openaiClient(options: OpenaiOptions): { get(): Promise<OpenAI>; close(): void } {
  const http = createHttpFetch(options.timeoutMs === undefined ? {} : { idleTimeoutMs: options.timeoutMs })
  let client: Promise<OpenAI> | undefined

  async function load(): Promise<OpenAI> {
    const { default: Client } = await import('openai')
    return new Client({
      // Local servers want none, and the SDK wants one.
      apiKey: options.apiKey ?? 'none',
      ...(options.openaiBaseUrl !== undefined && { baseURL: options.openaiBaseUrl }),
      ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
      maxRetries: options.maxRetries ?? 0,
      fetch: http.fetch,
      logLevel: 'off',
    })
  }

  return {
    get: () => {
      client ??= load()
      return client
    },
    close: http.close,
  }
}
