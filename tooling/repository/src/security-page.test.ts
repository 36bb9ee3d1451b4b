import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'
import { readPromises } from './security-page.ts'

const promises = readPromises(readFileSync(join(root, 'SECURITY.md'), 'utf8'))

test('the security page promises something', () => {
  expect(promises.length).toBeGreaterThan(20)
})

test.each(promises)('a test is named, and there, for: $sentence', ({ tests }) => {
  expect(tests).not.toEqual([])
  for (const { file, name } of tests) {
    expect(file).toMatch(/\.test\.ts$|^tooling\/redteam\/src\/families\//)
    expect(readFileSync(join(root, file), 'utf8'), file).toContain(name)
  }
})
