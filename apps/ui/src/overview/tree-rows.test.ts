import type { TaskView } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { treeRows } from './tree-rows.ts'

const none = { collapsed: {}, favourites: {} }

test('rows stand as the tree does: children below and to the right, in the order of their parent', () => {
  const tasks = tree({ root: ['b', 'a'], a: ['c'], b: [], c: [] })

  expect(treeRows(tasks, 'root', none).map(({ task, depth }) => `${depth}${task.id}`)).toEqual([
    '0root',
    '1b',
    '1a',
    '2c',
  ])
})

test('what is collapsed hides everything below it', () => {
  const tasks = tree({ root: ['a'], a: ['b'], b: [] })
  const rows = treeRows(tasks, 'root', { ...none, collapsed: { a: true } })

  expect(rows.map(({ task }) => task.id)).toEqual(['root', 'a'])
  expect(rows[1]).toMatchObject({ hasChildren: true, isOpen: false })
})

test('a find is shown with everything above it, even in what is collapsed', () => {
  const tasks = tree({ root: ['a', 'x'], a: ['needle'], needle: [], x: [] })
  const rows = treeRows(tasks, 'root', { ...none, collapsed: { a: true }, find: 'NEED' })

  expect(rows.map(({ task, isBystander }) => [task.id, isBystander])).toEqual([
    ['root', true],
    ['a', true],
    ['needle', false],
  ])
})

test('every word that is looked for has to be there, in any order', () => {
  const tasks = tree({ root: [] }, { root: { title: 'Move invoices to the ledger' } })

  expect(treeRows(tasks, 'root', { ...none, find: 'ledger move' })).toHaveLength(1)
  expect(treeRows(tasks, 'root', { ...none, find: 'ledger stay' })).toHaveLength(0)
})

test('a filter keeps what it names and what leads there', () => {
  const tasks = tree({ root: ['a', 'b'], a: [], b: [] }, { b: { needs: ['question'] }, a: { activity: 'working' } })
  const shown = (show: 'needs' | 'working') => treeRows(tasks, 'root', { ...none, show }).map(({ task }) => task.id)

  expect(shown('needs')).toEqual(['root', 'b'])
  expect(shown('working')).toEqual(['root', 'a'])
})

test('a task whose parent is not known is shown at the top rather than not at all', () => {
  const tasks = tree({ root: [], lost: [] }, { lost: { parentId: 'gone' } })

  expect(treeRows(tasks, 'root', none).map(({ task }) => task.id)).toEqual(['root', 'lost'])
})

function tree(shape: Record<string, string[]>, more: Record<string, Partial<TaskView>> = {}): Record<string, TaskView> {
  const parentOf = (id: string) => Object.entries(shape).find(([, children]) => children.includes(id))?.[0] ?? null
  return Object.fromEntries(
    Object.entries(shape).map(([id, children]) => [
      id,
      { ...blank, id, title: id, children, parentId: parentOf(id), ...more[id] },
    ]),
  )
}

const blank: TaskView = {
  id: '',
  title: '',
  description: '',
  status: 'pending',
  branch: null,
  parentId: null,
  children: [],
  worktreePath: null,
  costUsd: 0,
  editedBy: 'user',
  persistent: false,
  createdAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:00Z',
  projectId: 'p',
  depth: 0,
  activity: 'off',
  doing: null,
  problem: null,
  treeCostUsd: 0,
  treeSpent: { usd: 0, tokens: 0, minutes: 0, unpricedTurns: 0 },
  contextTokens: null,
  contextWindow: null,
  model: null,
  pendingMessages: 0,
  lastSeq: 0,
  lastAt: null,
  needs: [],
}
