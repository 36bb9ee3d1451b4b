import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseEvent, readBatches } from './answer-events.ts'
import type { AnswerBody } from './http-fetch.ts'

const stream =
  ': hello\n\nevent: a\ndata: {"text":"grüß dich 🎉"}\n\nid: 1\r\ndata: {"n":\r\ndata: 2}\r\n\r\ndata: [DONE]\n\ndata: {"last":true}'
const said = ['{"text":"grüß dich 🎉"}', '{"n":\n2}', '{"last":true}']

test('however the bytes are cut, the events are the same', async () => {
  const bytes = Buffer.from(stream)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length)), async (places) => {
      const cuts = [0, ...places.toSorted((a, b) => a - b), bytes.length]
      const chunks = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end))

      expect((await batchesOf(chunks)).flat()).toEqual(said)
    }),
  )
})

test('what arrives together is one batch', async () => {
  expect(await batchesOf([Buffer.from(`${stream}\n\n`)])).toEqual([said])
})

test('an error that the provider reports in its answer is thrown with what it says', () => {
  const reported = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

  expect(() => parseEvent(reported)).toThrow(
    expect.objectContaining({ error: expect.objectContaining({ message: 'Overloaded' }) }),
  )
  expect(parseEvent('{"error":null,"ok":1}')).toEqual({ error: null, ok: 1 })
})

async function batchesOf(chunks: Buffer[]): Promise<string[][]> {
  const body: Pick<AnswerBody, 'read'> = { read: async (take) => chunks.forEach(take) }
  const batches: string[][] = []
  await readBatches({ body, headers: new Headers() } as unknown as Response, (batch) => batches.push(batch))
  return batches
}
