import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openApprovalFile } from './approval-file.ts'
import { temporaryFolder } from './scripted-server.testing.ts'

test('what was agreed to for always is known to the next process, and to nobody else on the machine', () => {
  const file = join(temporaryFolder(), 'approvals/always.json')
  openApprovalFile(file).add('one')
  openApprovalFile(file).add('two')

  expect(['one', 'two', 'three'].map(openApprovalFile(file).has)).toEqual([true, true, false])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('what is taken out of the file is taken back at once, and a damaged file approves nothing', () => {
  const file = join(temporaryFolder(), 'always.json')
  const memory = openApprovalFile(file)
  memory.add('one')
  writeFileSync(file, '{"approved": ["one"')
  expect(memory.has('one')).toBe(false)

  rmSync(file)
  expect(memory.has('one')).toBe(false)
})
