import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findCallTarget } from './call-target.ts'
import { temporaryFolder } from './scripted-server.testing.ts'

test('paths, commands and hosts are found by the names of their arguments, at any depth', async () => {
  const target = await find({
    path: 'a',
    edits: [{ file_path: 'b' }],
    sourceDirectory: 'c',
    command: 'ls',
    url: 'https://x.example/y',
  })

  expect(target.paths).toEqual(expect.arrayContaining(['a', 'b', 'c']))
  expect(target).toMatchObject({ commands: [{ text: 'ls' }], hosts: ['x.example'] })
})

test('a path counts both as it is written and as links lead', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'secrets'))
  symlinkSync(join(cwd, 'secrets'), join(cwd, 'harmless'))
  const { paths } = await find({ path: 'harmless/new.txt' }, cwd)

  expect(paths).toEqual(['harmless/new.txt', join(cwd, 'secrets/new.txt')])
})

test('home is spelled out, and a file URL is a path', async () => {
  expect((await find({ path: '~/.ssh/id' })).paths).toContain('/home/me/.ssh/id')
  expect((await find({ uri: 'file:///etc/shadow', path: 'file:///etc/shadow' })).paths).toContain('/etc/shadow')
})

test('a tool that calls its path something else does not escape its lists', async () => {
  expect((await find({ where: '/etc/shadow' })).paths).toContain('/etc/shadow')
})

test('a call without any path is about the folder it works in', async () => {
  expect((await find({ limit: 3 })).paths).toContain('.')
})

test('folders are told from files, and what names no path is about the folder it works in', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'src'))

  expect((await find({ path: 'src' }, cwd)).folders).toEqual([join(cwd, 'src')])
  expect((await find({ path: 'src/new.ts' }, cwd)).folders).toEqual([])
  expect((await find({ query: 'milk' }, cwd)).folders).toEqual([cwd])
})

test('a URL that cannot be read is a host that nobody allowed', async () => {
  expect((await find({ url: 'http://[bad' })).hosts).toEqual(['http://[bad'])
})

function find(input: Record<string, unknown>, cwd = '/work') {
  return findCallTarget(input, { cwd, home: '/home/me' })
}
