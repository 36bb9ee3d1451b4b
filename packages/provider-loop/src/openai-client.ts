import type OpenAI from 'openai'
import { type AdapterOptions, modelIds } from './adapter-base.ts'
import { createHttpFetch, type Dial } from './http-fetch.ts'

export type OpenaiOptions = Omit<AdapterOptions, 'priceProvider'> & {
  apiKey?: string
  /** Of a server that speaks OpenAI's language: vLLM, llama.cpp, Ollama, LM Studio. */
  baseUrl?: string
  /** How long the provider may send nothing before the request is given up. */
  timeoutMs?: number
  /** Another way to the provider than a direct connection. */
  dial?: Dial
}

/** The official SDK, loaded with the first call. */
export function openaiClient(options: OpenaiOptions): {
  get(): Promise<OpenAI>
  listModels(signal: AbortSignal): Promise<string[]>
  close(): void
} {
  const http = createHttpFetch({ idleTimeoutMs: options.timeoutMs, dial: options.dial })
  let client: Promise<OpenAI> | undefined

  async function load(): Promise<OpenAI> {
    const { default: Client } = await import('openai')
    return new Client({
      // Local servers want no key, and the SDK wants one: it is not sent.
      apiKey: options.apiKey ?? 'none',
      ...(options.apiKey === undefined && { defaultHeaders: { authorization: null } }),
      ...(options.baseUrl !== undefined && { baseURL: options.baseUrl }),
      // Our fetch gives up on silence; an answer may take as long as it takes.
      timeout: 2 ** 31 - 1,
      // The loop retries; retries of the SDK would multiply with its own.
      maxRetries: 0,
      fetch: http.fetch,
      logLevel: 'off',
    })
  }

  const get = () => {
    client ??= load()
    return client
  }
  return {
    get,
    listModels: async (signal) => modelIds(await (await get()).get('/models', { signal })),
    close: http.close,
  }
}
