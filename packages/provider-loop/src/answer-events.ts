import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'

/**
 * The server-sent events of an answer, those that arrive together as one batch: what is done once for each batch
 * costs little, however small the pieces are in which a provider sends its words.
 */
export async function* readBatches(response: Response): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let batch: string[] = []
  const parser = createParser({ onEvent: ({ data }) => data.startsWith('[DONE]') || batch.push(data) })
  for await (const chunk of response.body as unknown as AsyncIterable<Buffer>) {
    parser.feed(decoder.write(chunk))
    if (batch.length === 0) continue
    yield batch
    batch = []
  }
  // Not every server ends its last event.
  parser.feed('\n\n')
  if (batch.length > 0) yield batch
}

/** Throws what a provider reports as an error in the middle of its answer, in the form in which the SDKs throw theirs. */
export function parseEvent<Event>(data: string): Event {
  const event = JSON.parse(data)
  if (event?.error) throw Object.assign(new Error('The provider reported an error'), { error: event.error })
  return event
}
