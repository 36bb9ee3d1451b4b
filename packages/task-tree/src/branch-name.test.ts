import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkBranchName, slugify, taskBranch } from './branch-name.ts'

test('a branch name carries the whole task id and a readable piece of the title', () => {
  expect(taskBranch('01KMAB1234ABCDEFGHJKMNPQRS', "Fix the Café's menu (again)")).toBe(
    'mxd/01KMAB1234ABCDEFGHJKMNPQRS/fix-the-cafe-s-menu-again',
  )
  expect(slugify('日本語')).toBe('task')
  expect(slugify('-'.repeat(100))).toBe('task')
  expect(slugify('x'.repeat(100))).toHaveLength(40)
})

test('any title makes a branch name that passes the check', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (title) => {
      const branch = taskBranch('01KMAB1234ABCDEFGHJKMNPQRS', title)
      expect(checkBranchName(branch)).toBe(branch)
    }),
  )
})

test('whatever passes the check is a branch name to git as well, and nothing else', () => {
  const pieces = [
    'a',
    'B1',
    '/',
    '.',
    '..',
    '-',
    '@',
    '{',
    '@{-1}',
    '~',
    '^',
    ':',
    '?',
    '*',
    '[',
    '\\',
    ' ',
    '\t',
    '.lock',
    'é',
    'HEAD',
    '--upload-pack=x',
  ]
  const names = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''))
  const sample = [...new Set(fc.sample(names, { numRuns: 150, seed: 7 }))]
  const passed = sample.filter((name) => {
    try {
      return checkBranchName(name) === name
    } catch {
      return false
    }
  })
  const isBranch = (name: string) => spawnSync('git', ['check-ref-format', '--branch', name]).status === 0

  expect(passed.length).toBeGreaterThan(10)
  expect(passed.filter((name) => !isBranch(name))).toEqual([])
})
