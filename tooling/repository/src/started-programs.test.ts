import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'
import { countCalls, findStartingFiles, readTable } from './started-programs.ts'

const page = readFileSync(join(root, 'docs/started-programs.md'), 'utf8')

test('every place in the sources that starts a program is in the table, with as many calls, and no other', () => {
  const documented = readTable(page).map(({ file, calls }) => ({ file, calls }))

  expect(documented.sort((a, b) => (a.file < b.file ? -1 : 1))).toEqual(findStartingFiles(root))
})

test('every row says what is started and why that is safe', () => {
  for (const { file, what, why } of readTable(page)) {
    expect(what.length, file).toBeGreaterThan(5)
    expect(why, file).toMatch(/\w{3,}.*\.$/)
  }
})

test.each([
  ["import { spawn } from 'node:child_process'\nspawn('a', [])\n", 1],
  ["import { spawn as start } from 'child_process'\nstart('a')\nstart('b')\n", 2],
  ["import { execFile } from 'node:child_process'\nawait promisify(execFile)('du', [])\n", 1],
  ["import * as child from 'node:child_process'\nchild.exec('a')\n", 1],
  ["const { fork } = await import('node:child_process')\n", 1],
  ["const text = `require('node:child_process').spawn(a)`\n", 1],
  ["import { execa } from 'execa'\n", 1],
  ['const running = await sandbox.spawn({})\n', 1],
  ['await options.sandbox.spawn(box)\n', 1],
  ["import type { ChildProcess } from 'node:child_process'\n// spawn('a')\nconst found = /x/.exec('')\n", 0],
])('a call is counted however it is written: %j', (text, calls) => {
  expect(countCalls(text)).toBe(calls)
})
