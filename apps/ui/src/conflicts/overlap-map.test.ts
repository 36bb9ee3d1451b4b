import { expect, test } from 'vitest'
import { toOverlapMap } from './overlap-map.ts'

const task = (taskId: string) => ({ taskId, title: taskId, branch: taskId })

test('two branches meet in the files that both change, and clash in some of them', () => {
  const map = toOverlapMap([
    { path: 'a.ts', tasks: [task('x'), task('y'), task('z')], conflicts: [['y', 'x']] },
    { path: 'b.ts', tasks: [task('y'), task('x')], conflicts: [] },
  ])

  expect(map.find('x', 'y')).toMatchObject({ files: ['a.ts', 'b.ts'], conflicts: ['a.ts'] })
  expect(map.find('z', 'x')).toMatchObject({ files: ['a.ts'], conflicts: [] })
  expect(map.find('x', 'nobody')).toBeUndefined()
})

test('those in most trouble come first', () => {
  const map = toOverlapMap([
    { path: 'a.ts', tasks: [task('p'), task('q')], conflicts: [] },
    { path: 'b.ts', tasks: [task('q'), task('r')], conflicts: [['q', 'r']] },
  ])

  expect(map.tasks.map(({ taskId }) => taskId)).toEqual(['q', 'r', 'p'])
})
