import { MatrixError } from '@matrix/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { simulatedDisk } from './simulated-disk.ts'
import { createTask } from './task-operations.ts'
import { createTree } from './task-tree.ts'

test('a task is found by its id and by the first 8 or more characters of it, in any case', async () => {
  const tree = await treeWith(['01KMAB1234ABCDEFGHJKMNPQRS', '01KMAB99990000000000000000'])

  expect(tree.get('01KMAB1234ABCDEFGHJKMNPQRS').id).toBe('01KMAB1234ABCDEFGHJKMNPQRS')
  expect(tree.get('01KMAB12').id).toBe('01KMAB1234ABCDEFGHJKMNPQRS')
  expect(tree.get('01kmab1234abc').id).toBe('01KMAB1234ABCDEFGHJKMNPQRS')
  expect(tree.find('01KMABZZ')).toBeUndefined()
  expect(() => tree.get('01KMAB1')).toThrowError(expect.objectContaining({ code: 'TASK_ID_MALFORMED' }))
})

test('a prefix that fits several tasks is refused with their ids and titles', async () => {
  const tree = await treeWith(['01KMAB1234ABCDEFGHJKMNPQRS', '01KMAB1234ZZZZZZZZZZZZZZZZ'])

  expect(() => tree.get('01KMAB1234')).toThrowError(
    expect.objectContaining({
      code: 'TASK_AMBIGUOUS',
      message: expect.stringMatching(/01KMAB1234ABCDEFGHJKMNPQRS \(Task 0\), 01KMAB1234ZZZZZZZZZZZZZZZZ \(Task 1\)/),
    }),
  )
})

test('an id that is a path, an option, a prototype name or endless is refused without side effects', async () => {
  const tree = await treeWith([])
  const hostile = [
    '../../etc',
    '..%2f..%2fx',
    '-rf --all',
    '__proto__',
    'constructor',
    'a\0bcdefgh',
    '\u001b[31mred',
    'A'.repeat(10_000),
    '',
  ]
  const ids = fc.oneof(fc.constantFrom(...hostile), fc.string({ maxLength: 40 }))

  fc.assert(
    fc.property(ids, (id) => {
      try {
        expect(tree.find(id)).toBeUndefined()
      } catch (error) {
        expect(error).toBeInstanceOf(MatrixError)
        expect((error as MatrixError).message).not.toMatch(/\p{Cc}/u)
        expect((error as MatrixError).message.length).toBeLessThan(400)
      }
    }),
  )
})

async function treeWith(ids: string[]) {
  const next = ['01AAAAAAAAAAAAAAAAAAAAAAAA', ...ids]
  const tree = await createTree(
    '/p',
    { title: 'Root', baseBranch: 'main' },
    { disk: simulatedDisk(1), newId: () => next.shift() ?? '' },
  )
  for (const index of ids.keys())
    await createTask(tree, tree.root().id, { title: `Task ${index}` }, { editedBy: 'agent' })
  return tree
}
