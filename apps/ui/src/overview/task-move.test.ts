import type { TaskView } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { planMove, planStep } from './task-move.ts'

// root ─ a ─ a1
//      ├ b
//      └ c
const tasks = tree({ root: ['a', 'b', 'c'], a: ['a1'], a1: [], b: [], c: [] })

test('dropped between two siblings, it takes that place', () => {
  expect(planMove(tasks, 'c', 'a', 'after')).toEqual({
    taskId: 'c',
    parentId: 'root',
    children: ['a', 'c', 'b'],
    isNewParent: false,
  })
})

test('dropped inside another, it becomes the last of its children', () => {
  expect(planMove(tasks, 'b', 'a', 'inside')).toEqual({
    taskId: 'b',
    parentId: 'a',
    children: ['a1', 'b'],
    isNewParent: true,
  })
})

test.each([
  ['a', 'a1', 'inside'],
  ['a', 'a', 'before'],
  ['b', 'root', 'before'],
  ['root', 'a', 'inside'],
  ['b', 'a', 'after'],
] as const)('dropping %s on %s (%s) means nothing', (moved, target, place) => {
  expect(planMove(tasks, moved, target, place)).toBeUndefined()
})

test('by keyboard it goes up, down, out of its parent and into the sibling above', () => {
  expect(planStep(tasks, 'b', 'up')?.children).toEqual(['b', 'a', 'c'])
  expect(planStep(tasks, 'b', 'down')?.children).toEqual(['a', 'c', 'b'])
  expect(planStep(tasks, 'a1', 'out')).toMatchObject({ parentId: 'root', children: ['a', 'a1', 'b', 'c'] })
  expect(planStep(tasks, 'b', 'in')).toMatchObject({ parentId: 'a', children: ['a1', 'b'] })
  expect(planStep(tasks, 'a', 'up')).toBeUndefined()
})

function tree(shape: Record<string, string[]>): Record<string, TaskView> {
  const parentOf = (id: string) => Object.entries(shape).find(([, children]) => children.includes(id))?.[0] ?? null
  return Object.fromEntries(
    Object.entries(shape).map(([id, children]) => [id, { id, children, parentId: parentOf(id) } as TaskView]),
  )
}
