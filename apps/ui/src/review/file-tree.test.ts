import { expect, test } from 'vitest'
import { toTreeRows } from './file-tree.ts'

test('files stand in their folders, folders first, lone folders joined', () => {
  const rows = toTreeRows(['z.md', 'src/deep/down/a.ts', 'src/deep/down/b.ts', 'src/c.ts', 'docs/x/y/z.md'].map(change))

  expect(rows.map(({ name, depth }) => `${'  '.repeat(depth)}${name}`)).toEqual([
    'docs/x/y',
    '  z.md',
    'src',
    '  deep/down',
    '    a.ts',
    '    b.ts',
    '  c.ts',
    'z.md',
  ])
})

function change(path: string) {
  const counts = { additions: 0, deletions: 0, isBinary: false, isSubmodule: false }
  return { path, status: 'added' as const, ...counts }
}
