import type { TaskView } from '@matrix/protocol/http'
import picocolors from 'picocolors'
import { expect, test } from 'vitest'
import { projectView, taskView } from './fake-daemon.testing.ts'
import { textWidth } from './text-width.ts'
import { formatTree, shortIds, stateOf } from './tree-lines.ts'

const now = Date.parse('2026-01-01T01:00:00.000Z')
const root = '01K00000000000000000000000'
const project = projectView()
const options = { width: 100, now, colors: picocolors.createColors(false) }

test('a tree shows who does what, since when and for how much', () => {
  const tasks = [
    taskView(root, {
      title: 'Ship it',
      children: ['01K1A000000000000000000000', '01K1B000000000000000000000'],
      treeCostUsd: 1.5,
      activity: 'waiting',
    }),
    taskView('01K1A000000000000000000000', { title: 'Parser', parentId: root, status: 'passed', treeCostUsd: 0.5 }),
    taskView('01K1B000000000000000000000', {
      title: 'Docs',
      parentId: root,
      activity: 'working',
      doing: 'Run npm test',
      budgetUsd: 2,
    }),
  ]

  expect(formatTree(project, tasks, options)).toEqual(
    [
      'demo  main · $1.50 · 1 working · 1 waiting',
      '◌ Ship it    01K00000  waiting  $1.50  1h',
      '├─ ✔ Parser  01K1A000  passed   $0.50  1h',
      '└─ ● Docs    01K1B000  working  $0/$2.00  1h  Run npm test',
    ].map((line) => expect.stringMatching(new RegExp(line.replace(/[$.*+?()|[\]]/g, '\\$&').replace(/ {2,}/g, ' +')))),
  )
})

test('what a person has to do is said before anything else', () => {
  const state = (needs: TaskView['needs'], activity: TaskView['activity'], status: TaskView['status']) =>
    stateOf({ needs, activity, status })

  expect(state(['question'], 'waiting', 'in_progress')).toBe('asks')
  expect(state([], 'working', 'in_progress')).toBe('working')
  expect(state(['review'], 'working', 'in_progress')).toBe('working')
  expect(state(['review'], 'off', 'passed')).toBe('review')
  expect(state([], 'off', 'in_progress')).toBe('interrupted')
  expect(state([], 'off', 'passed')).toBe('passed')
})

test('no line is wider than the terminal, however long the titles and however deep the tree', () => {
  const ids = Array.from({ length: 12 }, (_, index) => `01K${String(index).padStart(23, '0')}`)
  const tasks = ids.map((id, index) =>
    taskView(id, {
      title: '漢字 und lange Titel '.repeat(8),
      parentId: ids[index - 1] ?? null,
      children: ids.slice(index + 1, index + 2),
      doing: 'x'.repeat(300),
      activity: 'working',
      treeCostUsd: 0.1234,
    }),
  )

  for (const width of [80, 100, 140])
    for (const line of formatTree(project, tasks, { ...options, width }))
      expect(textWidth(line), line).toBeLessThanOrEqual(width)
})

test('closed tasks are counted unless they are asked for', () => {
  const tasks = [
    taskView(root, { children: ['01K1A000000000000000000000'] }),
    taskView('01K1A000000000000000000000', { title: 'Old', parentId: root, status: 'closed' }),
  ]

  expect(formatTree(project, tasks, options).at(-1)).toBe('1 closed, shown with --all')
  expect(formatTree(project, tasks, { ...options, all: true }).join('\n')).toContain('Old')
})

test('titles cannot play tricks on the terminal', () => {
  expect(formatTree(project, [taskView(root, { title: '\u001B[2Jgone\u202E' })], options).join('')).toContain(
    '<U+001B>[2Jgone<U+202E>',
  )
})

test('ids are as short as they can be while they differ', () => {
  const ids = ['01K1A000000000000000000000', '01K1A000000000000000000001', '01K2A000000000000000000000']

  expect([...shortIds(ids.map((id) => ({ id }))).values()]).toEqual([ids[0], ids[1], '01K2A000'])
})
