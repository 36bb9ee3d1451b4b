import type { Frame } from '@matrix/protocol/http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { projectId, said, taskId } from '../scripted-orchestrator.testing.ts'
import { openRing } from './ring.ts'
import { findStart } from './start-position.ts'

const other = '01K00000000000000000000002'

test('the ring holds the latest frames that fit, each at its position, and never more', () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 })
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 4000 }), (texts, frames, bytes) => {
      const ring = openRing('e', { frames, bytes })
      for (const [index, length] of texts.entries()) ring.push(frame(index + 1, length))

      expect(ring.head()).toBe(texts.length + 1)
      expect(ring.head() - ring.oldest()).toBeLessThanOrEqual(frames)
      expect(ring.bytes()).toBeLessThanOrEqual(bytes)
      let total = 0
      for (let at = ring.oldest(); at < ring.head(); at += 1) {
        expect(ring.at(at)).toMatchObject({ position: at, seq: at })
        total += ring.at(at).bytes.length
      }
      expect(ring.bytes()).toBe(total)
      // Nothing is dropped that would have fitted.
      const before = ring.oldest() - 1
      if (before > 0 && ring.head() - ring.oldest() < frames)
        expect(total + sizeOf(before, texts[before - 1] ?? 0)).toBeGreaterThan(bytes)
    }),
  )
})

test('the frames of one task are found without looking at those of the others', () => {
  const task = fc.constantFrom(taskId, other)
  fc.assert(
    fc.property(
      fc.array(task, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      fc.nat(60),
      (tasks, frames, from) => {
        const ring = openRing('e', { frames, bytes: 1e6 })
        for (const [index, one] of tasks.entries()) ring.push({ ...frame(index + 1, 1), taskId: one })
        const all = Array.from({ length: ring.head() - ring.oldest() }, (_, index) => ring.at(ring.oldest() + index))

        for (const one of [taskId, other])
          expect(ring.ofTask(one, from)).toEqual(all.filter((entry) => entry.taskId === one && entry.position >= from))
      },
    ),
  )
})

test('whoever comes back with a cursor of this epoch goes on right after it, as long as the ring reaches back that far', () => {
  const position = fc.integer({ min: 0, max: 60 })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 20 }), position, (pushed, frames, last) => {
      const ring = openRing('e', { frames, bytes: 1e6 })
      for (let seq = 1; seq <= pushed; seq += 1) ring.push(frame(seq, 1))
      const start = findStart(ring, `e.${last}`)

      const isHere = last + 1 >= ring.oldest() && last <= pushed
      expect(start).toEqual(
        isHere ? { position: last + 1, resync: undefined } : { position: ring.head(), resync: 'too_old' },
      )
    }),
  )
})

test('a newcomer, and whoever knew the daemon before its restart, is told so and begins now', () => {
  const ring = openRing('e', { frames: 10, bytes: 1e6 })
  ring.push(frame(1, 1))

  expect(findStart(ring, undefined)).toEqual({ position: 2, resync: 'start' })
  expect(findStart(ring, 'other.1')).toEqual({ position: 2, resync: 'restarted' })
})

function frame(seq: number, length: number): Extract<Frame, { kind: 'event' }> {
  return { kind: 'event', projectId, taskId, seq, event: said('x'.repeat(length)) }
}

function sizeOf(position: number, length: number): number {
  return Buffer.byteLength(`id: e.${position}\ndata: ${JSON.stringify(frame(position, length))}\n\n`)
}
