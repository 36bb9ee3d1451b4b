import type { Attention, AttentionKind } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { inOrder, keepPlace } from './attention-order.ts'

test('what holds an agent up comes before what only waits to be seen, and what waited longest comes first', () => {
  const items = [need('review', 1), need('question', 3), need('question', 2), need('approval', 4)]

  expect(inOrder(items).map(({ id }) => id)).toEqual(['approval4', 'question2', 'question3', 'review1'])
})

test('the selection stays on its item, and goes to the next one when that is dealt with', () => {
  expect(keepPlace(['a', 'b', 'c'], ['x', 'a', 'b', 'c'], 'b')).toBe('b')
  expect(keepPlace(['a', 'b', 'c'], ['a', 'c'], 'b')).toBe('c')
  expect(keepPlace(['a', 'b'], ['a'], 'b')).toBe('a')
  expect(keepPlace(['a'], [], 'a')).toBeUndefined()
  expect(keepPlace([], ['a', 'b'], undefined)).toBe('a')
})

function need(kind: AttentionKind, minute: number): Attention {
  const since = `2026-01-01T00:0${minute}:00Z`
  return { id: `${kind}${minute}`, kind, projectId: 'p', taskId: 't', taskTitle: 'T', text: '', since }
}
