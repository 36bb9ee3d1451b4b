import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isInstalled, writeStamp } from '../../bootstrap/stamp.mjs'

let clone: string
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'matrix-stamp-'))
  write('pnpm-workspace.yaml', 'packages:\n  - packages/*\n')
  write('pnpm-lock.yaml', 'lockfileVersion: 9\n')
  write('package.json', '{}')
  write('packages/one/package.json', '{}')
  write('packages/one/node_modules/zod/index.js', '')
  write('node_modules/.modules.yaml', '')
})
afterEach(() => rmSync(clone, { recursive: true }))

test('a fresh clone is not installed', () => {
  expect(isInstalled(clone)).toBe(false)
})

test('after an install there is nothing to do', () => {
  writeStamp(clone)

  expect(isInstalled(clone)).toBe(true)
})

test.each(['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', 'packages/one/package.json'])(
  'a change of %s asks for another install',
  (file) => {
    writeStamp(clone)
    write(file, 'packages:\n  - packages/*\n# changed\n')

    expect(isInstalled(clone)).toBe(false)
  },
)

test('a new package asks for another install', () => {
  writeStamp(clone)
  write('packages/two/package.json', '{}')
  write('packages/two/node_modules/zod/index.js', '')

  expect(isInstalled(clone)).toBe(false)
})

test('an install by hand in between asks for another one, since it may have been of something else', () => {
  writeStamp(clone)
  utimesSync(join(clone, 'node_modules/.modules.yaml'), 1, 1)

  expect(isInstalled(clone)).toBe(false)
})

test('a package whose node_modules was deleted asks for another install', () => {
  writeStamp(clone)
  rmSync(join(clone, 'packages/one/node_modules'), { recursive: true })

  expect(isInstalled(clone)).toBe(false)
})

function write(file: string, text: string): void {
  mkdirSync(dirname(join(clone, file)), { recursive: true })
  writeFileSync(join(clone, file), text)
}
