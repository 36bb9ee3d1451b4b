export { type Client, type ClientOptions, createClient } from './client.ts'
export { type EventStream, type EventStreamOptions, feedUrl } from './event-stream.ts'
export type { ByteReader, Fetch, FetchRequest, FetchResponse } from './fetch.ts'
export { buildTarget, type Target } from './url.ts'
