import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { ForeignAnswer, withoutMarkup } from './failure.ts'
import type { AnswerBody } from './http-fetch.ts'

/**
 * Hands over the server-sent events of an answer, those that arrive together as one batch: what is done once for each
 * batch costs little, however small the pieces are in which a provider sends its words.
 */
export async function readBatches(response: Response, take: (batch: string[]) => void): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const isPage = response.headers.get('content-type')?.startsWith('text/html')
  let page = ''
  let batch: string[] = []
  const parser = createParser({ onEvent: ({ data }) => data.startsWith('[DONE]') || batch.push(data) })
  const feed = (text: string) => {
    if (isPage) page += text.slice(0, 10_000 - page.length)
    else parser.feed(text)
    if (batch.length === 0) return
    const arrived = batch
    batch = []
    take(arrived)
  }
  await (response.body as unknown as AnswerBody).read((chunk) => feed(decoder.write(chunk)))
  if (isPage) throw new ForeignAnswer(`The server answered with ${withoutMarkup(page)}`)
  // Not every server ends its last event.
  feed('\n\n')
}

/** Throws what a provider reports as an error in the middle of its answer, in the form in which the SDKs throw theirs. */
export function parseEvent<Event>(data: string): Event {
  const event = JSON.parse(data)
  if (event?.error) throw Object.assign(new Error('The provider reported an error'), { error: event.error })
  return event
}
