import { expect, test } from 'vitest'
import type { PagesView } from '../live/event-pages.ts'
import { findTakenBack } from './taken-back.ts'

test('what stands between an event and the taking back to it is taken back', () => {
  expect(takenBack({ 6: 3 }, 8)).toEqual([4, 5])
})

test('taking back what was taken back brings it into the conversation again', () => {
  expect(takenBack({ 6: 3, 8: 5 }, 9)).toEqual([6, 7])
})

test('a conversation that was taken back twice lacks both parts', () => {
  expect(takenBack({ 4: 2, 9: 6 }, 10)).toEqual([3, 7, 8])
})

/** Those of the first `last` events that are taken back, given what each marker takes its conversation back to. */
function takenBack(markers: Record<number, number>, last: number): number[] {
  const all = Array.from({ length: last }, (_, index) => index + 1)
  const events = all.map((seq) => {
    const upTo = markers[seq]
    return { seq, event: upTo === undefined ? { type: 'assistant_text' } : { type: 'rewind_marker', upTo } }
  })
  const pages = new Map([[0, events]]) as unknown as PagesView['pages']
  return all.filter(findTakenBack({ pages }))
}
