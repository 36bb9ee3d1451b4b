import type { ByteReader } from './fetch.ts'

export type ServerSentEvent = { id: string | undefined; data: string }

/** Splits the bytes of an event stream into its events, however they were cut on the way. Comments only count as a sign of life. */
export async function* readServerSentEvents(reader: ByteReader, heard: () => void): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    heard()
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = parseBlock(block)
      if (event) yield event
    }
  }
}

function parseBlock(block: string): ServerSentEvent | undefined {
  let id: string | undefined
  let data: string | undefined
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) data = data === undefined ? line.slice(6) : `${data}\n${line.slice(6)}`
    else if (line.startsWith('id: ')) id = line.slice(4)
  }
  return data === undefined ? undefined : { id, data }
}
