/** The part of `fetch` that the client needs, so that a few lines over node:http can stand in for it. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchResponse>

export type FetchRequest = {
  method: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
}

export type FetchResponse = {
  status: number
  text(): Promise<string>
  body: { getReader(): ByteReader } | null
}

export type ByteReader = {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<unknown>
}
