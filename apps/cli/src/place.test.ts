import type { TaskView } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { findTask } from './place.ts'

const tasks = [
  { id: '01K1A000000000000000000000', title: 'Ship it', parentId: null },
  { id: '01K1B000000000000000000000', title: 'Write the parser', parentId: '01K1A000000000000000000000' },
  { id: '01K1C000000000000000000000', title: 'Test the parser', parentId: '01K1A000000000000000000000' },
] as TaskView[]

test('a task is found by root, by the start of its id in any case, or by a part of its title', () => {
  expect(findTask(tasks, 'root').title).toBe('Ship it')
  expect(findTask(tasks, '01k1b').title).toBe('Write the parser')
  expect(findTask(tasks, 'write').title).toBe('Write the parser')
  expect(findTask(tasks, 'ship it').title).toBe('Ship it')
})

test('which task is meant is never guessed', () => {
  expect(() => findTask(tasks, 'parser')).toThrow(/may be .*Write the parser.*Test the parser/)
  expect(() => findTask(tasks, '01K1')).toThrow(/may be/)
  expect(() => findTask(tasks, '01')).toThrow(/may be/)
  expect(() => findTask(tasks, 'rm -rf')).toThrow('There is no task “rm -rf”.')
  expect(() => findTask(tasks, '')).toThrow('There is no task')
})
