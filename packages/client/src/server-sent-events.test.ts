import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ByteReader } from './fetch.ts'
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts'

test('events come whole and in order, wherever the network cuts their bytes', async () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, ' '))
  const event = fc.record({ id: fc.option(fc.constant('e.1'), { nil: undefined }), data: line })
  await fc.assert(
    fc.asyncProperty(fc.array(event), fc.infiniteStream(fc.integer({ min: 1, max: 9 })), async (events, cuts) => {
      const text = events.map(({ id, data }) => `${id ? `id: ${id}\n` : ''}data: ${data}\n\n:\n\n`).join('')
      const read: ServerSentEvent[] = []
      for await (const one of readServerSentEvents(cutUp(text, cuts), () => {})) read.push(one)

      expect(read).toEqual(events)
    }),
  )
})

test('a comment is a sign of life and nothing more', async () => {
  let heard = 0
  const read: ServerSentEvent[] = []
  const sign = () => {
    heard += 1
  }
  for await (const one of readServerSentEvents(cutUp(':\n\n', [1, 1, 1]), sign)) read.push(one)

  expect([read, heard]).toEqual([[], 3])
})

function cutUp(text: string, cuts: Iterable<number>): ByteReader {
  const bytes = new TextEncoder().encode(text)
  const lengths = cuts[Symbol.iterator]()
  let at = 0
  return {
    async read() {
      if (at >= bytes.length) return { done: true }
      const value = bytes.subarray(at, at + lengths.next().value)
      at += value.length
      return { done: false, value }
    },
    cancel: async () => {},
  }
}
