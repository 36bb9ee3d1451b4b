import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ChainChecker, type ChainVerdict, openChainChecker } from './chain.ts'
import type { OpenFile } from './file-system.ts'
import { formatHeader, formatLine } from './line.ts'
import { parseLines, readVerified } from './session-reader.ts'

test('memory is not handed to the next reader while it is still being checked', async () => {
  const checker = openChainChecker()
  const slow: ChainChecker = { ...checker, check: async (span) => wait(50).then(() => checker.check(span)) }
  const first = countLines(fileOf('first'), slow)
  await wait(20)
  const second = await countLines(fileOf('second'), checker)

  expect([await first, second]).toEqual([401, 401])
  await checker.close()
})

test('who stops early hands nothing on that is still being checked', async () => {
  const checker = openChainChecker()
  const verdicts: ChainVerdict[] = []
  let checks = 0
  const check: ChainChecker['check'] = async (span) => {
    checks += 1
    await wait(30 * checks)
    const verdict = await checker.check(span)
    verdicts.push(verdict)
    return verdict
  }
  const bytes = fileOf('first', 3000)
  const slow = { checker: { ...checker, check }, parse: parseLines }
  for await (const _ of readVerified(inMemory(bytes), 'x', slow, all(bytes))) break
  await countLines(fileOf('second', 3000), checker)

  expect(verdicts.map(({ badAt }) => badAt)).toEqual([undefined, undefined])
  await checker.close()
})

test('the first lines of a long file come without reading much of it', async () => {
  const checker = openChainChecker()
  const bytes = fileOf('long', 10_000)
  let read = 0
  const counted: OpenFile = {
    ...inMemory(bytes),
    read: async (target, position) => {
      read += target.byteLength
      return inMemory(bytes).read(target, position)
    },
  }
  for await (const _ of readVerified(counted, 'x', { checker, parse: parseLines }, all(bytes))) break

  expect(read).toBeLessThan(bytes.byteLength / 4)
  await checker.close()
})

test('what holds before the damage is given out, whichever span it is in', async () => {
  const checker = openChainChecker()
  const bytes = Buffer.concat([fileOf('whole', 3000), Buffer.from('{"seq":3001,"event":{}}\n')])
  const seen: number[] = []
  const reading = async () => {
    for await (const { lines } of readVerified(inMemory(bytes), 'x', { checker, parse: parseLines }, all(bytes)))
      seen.push(...lines.map(({ seq }) => seq))
  }

  await expect(reading()).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
  expect(seen).toEqual(Array.from({ length: 3001 }, (_, seq) => seq))
  await checker.close()
})

async function countLines(bytes: Buffer, checker: ChainChecker): Promise<number> {
  let count = 0
  for await (const { lines } of readVerified(inMemory(bytes), 'x', { checker, parse: parseLines }, all(bytes)))
    count += lines.length
  return count
}

const all = (bytes: Buffer) => ({ seq: 0, offset: 0, to: bytes.byteLength })

function inMemory(bytes: Buffer): OpenFile {
  const unused = () => Promise.reject(new Error('only read'))
  return {
    size: async () => bytes.byteLength,
    read: async (target, position) => bytes.copy(target, 0, position, position + target.byteLength),
    ...{ write: unused, truncate: unused, sync: unused, close: async () => undefined },
  }
}

function fileOf(text: string, events = 400): Buffer {
  let { line: file, sum } = formatHeader({ seq: 0, format: 'matrix-session', v: 1, sessionId: 's', createdAt: text })
  for (let seq = 1; seq <= events; seq += 1) {
    const next = formatLine({ seq }, JSON.stringify({ type: 'x', text: text.repeat(200) }), sum)
    file += next.line
    sum = next.sum
  }
  return Buffer.from(file)
}
