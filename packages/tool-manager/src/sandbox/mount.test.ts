import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { programMount, systemMounts } from './mount.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'matrix-home-'))
})
afterEach(() => rmSync(home, { recursive: true }))

test.each([
  ['.nvm/versions/node/v20/bin/node', '.nvm/versions/node/v20'],
  ['.pyenv/versions/3.12.1/bin/python3', '.pyenv/versions/3.12.1'],
  ['.cargo/bin/tool', '.cargo/bin/tool'],
  ['.local/bin/uvx', '.local/bin/uvx'],
  ['bin/node', 'bin/node'],
  ['tools/node', 'tools/node'],
])('of the program ~/%s a box sees ~/%s', (program, seen) => {
  const file = join(home, program)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')

  expect(programMount(file, { shell: true, home }).map(({ target }) => target)).toEqual([join(home, seen)])
})

test('a program of the system is there with the rest of it, or alone where there is no shell', () => {
  expect(programMount('/usr/bin/env', { shell: true, home })).toEqual([])
  expect(programMount('/usr/bin/env', { shell: false, home })).toMatchObject([{ target: '/usr/bin/env' }])
})

test('no box has more of /etc than it needs, and nothing of how this machine finds hosts', () => {
  const targets = systemMounts({ shell: true }).map(({ target }) => target)

  expect(targets.filter((target) => /shadow|sudoers|ssh|hosts|resolv|passwd/.test(target))).toEqual([])
  expect(targets.every((target) => target !== '/' && target !== '/etc')).toBe(true)
})
