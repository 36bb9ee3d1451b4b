import type { Frame } from '@matrix/protocol/http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openStreamPosition } from './stream-position.ts'

const [first, second] = ['01K00000000000000000000001', '01K00000000000000000000002']

test('whatever is repeated or left out, nobody sees an event of a session twice or after a hole', () => {
  const seq = fc.integer({ min: 1, max: 12 })
  fc.assert(
    fc.property(fc.array(fc.record({ taskId: fc.constantFrom(first, second), seq })), (given) => {
      const position = openStreamPosition({})
      const seen: Record<string, number[]> = { [first]: [], [second]: [] }
      for (const one of given) {
        const verdict = position.accept(event(one.taskId, one.seq))
        if (verdict.outcome === 'show') seen[one.taskId]?.push(one.seq)
      }

      for (const seqs of Object.values(seen))
        for (const [index, at] of seqs.entries()) {
          const before = seqs[index - 1]
          // A session that begins again with its first event was reset.
          if (before !== undefined) expect(at === before + 1 || (at === 1 && before > 1)).toBe(true)
        }
    }),
  )
})

test('after a hole the next connection asks without a cursor, from the last seq', () => {
  const position = openStreamPosition({ taskId: first, after: 4 })
  const outcomes = [5, 6, 9].map((seq) => position.accept(event(first, seq, `e.${seq}`)).outcome)

  expect(outcomes).toEqual(['show', 'show', 'hole'])
  expect(position.resumeAt()).toEqual({ after: 6, afterTs: 'at 6', cursor: undefined })
})

test('a resync lets every session go on later than it stopped, but never twice', () => {
  const position = openStreamPosition({})
  position.accept(event(first, 3))
  position.accept({ id: 'f.9', data: JSON.stringify({ kind: 'resync', reason: 'restarted' }) })

  expect(position.accept(event(first, 3)).outcome).toBe('seen')
  expect(position.accept(event(first, 8)).outcome).toBe('show')
  expect(position.accept(event(first, 10)).outcome).toBe('hole')
})

test('a stream of one session has no hole even after a resync', () => {
  const position = openStreamPosition({ taskId: first, after: 3 })
  position.accept({ id: undefined, data: JSON.stringify({ kind: 'resync', reason: 'too_slow' }) })

  expect(position.accept(event(first, 8)).outcome).toBe('hole')
  expect(position.accept(event(first, 4)).outcome).toBe('show')
})

test('frames from the log move the seq and not the cursor', () => {
  const position = openStreamPosition({ taskId: first, after: 0 })
  position.accept(event(first, 1))
  position.accept(event(first, 2, 'e.7'))
  position.accept(event(first, 3))

  expect(position.resumeAt()).toEqual({ after: 3, afterTs: 'at 3', cursor: 'e.7' })
})

function event(taskId: string, seq: number, id?: string) {
  const frame: Frame = { kind: 'event', projectId: first, taskId, seq, event: { type: 'notice', ts: `at ${seq}` } }
  return { id, data: JSON.stringify(frame) }
}
