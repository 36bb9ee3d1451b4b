import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ArgumentRoles } from '@matrix/manifest'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { findCallTarget } from './call-target.ts'
import { temporaryFolder } from './scripted-server.testing.ts'

const text = { type: 'string' }

test('paths, commands and hosts are found by the roles of their arguments, at any depth', async () => {
  const edits = { type: 'array', items: { type: 'object', properties: { where: text } } }
  const properties = { p: text, edits, more: { type: 'array', items: text }, c: text, u: text, path: text }
  const target = await find(
    { p: 'a', edits: [{ where: 'b' }], more: ['c', 'd'], c: 'ls', u: 'https://x.example/y', path: 'decoy' },
    { roles: { paths: ['p', 'edits[].where', 'more'], commands: ['c'], hosts: ['u'] }, properties },
  )

  expect(target.paths.filter((path) => !path.startsWith('/'))).toEqual(['a', 'b', 'c', 'd'])
  expect(target).toMatchObject({ commands: [{ text: 'ls' }], hosts: ['x.example'] })
  expect(target.named).toEqual({ paths: true, commands: true, hosts: true })
})

test('every text below a place with a role counts, whatever shape the caller gives it', async () => {
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      fc.constant('/etc/shadow'),
      fc.array(tie('value'), { minLength: 1 }),
      fc.dictionary(fc.string(), tie('value'), { minKeys: 1 }),
    ),
  })).value
  await fc.assert(
    fc.asyncProperty(anything, async (p) => {
      const { paths } = await find({ p }, { roles: { paths: ['p'] }, properties: { p: {} } })

      expect(paths).toContain('/etc/shadow')
    }),
  )
})

test('an argument that an open definition takes without naming it makes nothing known', async () => {
  const open = { roles: { paths: ['path'] }, properties: { path: text }, more: { additionalProperties: true } }

  expect((await find({ path: 'a' }, open)).named.paths).toBe(true)
  expect((await find({ path: 'a', p: '/etc/shadow' }, open)).named.paths).toBe(false)
  expect((await find({ path: 'a', p: '/etc/shadow' }, open)).paths).toContain('/etc/shadow')
})

test('a role for every field of an object covers those that are not named', async () => {
  const schema = { roles: { paths: ['files.*'] }, properties: { files: { type: 'object' } } }

  expect(await find({ files: { a: 'src/a' } }, schema)).toMatchObject({
    named: { paths: true },
    paths: ['src/a', '/work/src/a'],
  })
})

test('a text that is a path in an argument without the role is kept apart', async () => {
  const { paths, others } = await find({ path: 'a', note: '/etc/shadow' }, { properties: { path: text, note: text } })

  expect([paths.includes('/etc/shadow'), others.includes('/etc/shadow')]).toEqual([false, true])
})

test('a path counts both as it is written and as links lead', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'secrets'))
  symlinkSync(join(cwd, 'secrets'), join(cwd, 'harmless'))
  const { paths } = await find({ path: 'harmless/new.txt' }, { cwd })

  expect(paths).toEqual(['harmless/new.txt', join(cwd, 'secrets/new.txt')])
})

test('home is spelled out, and a file URL is a path', async () => {
  expect((await find({ path: '~/.ssh/id' })).paths).toContain('/home/me/.ssh/id')
  expect((await find({ path: 'file:///etc/shadow' })).paths).toContain('/etc/shadow')
})

test('where no role is known, every text counts as a path', async () => {
  const target = await find({ where: '/etc/shadow' }, { roles: undefined, properties: { where: text } })

  expect(target.paths).toContain('/etc/shadow')
  expect(target.named.paths).toBe(false)
})

test('a call without any path is about the folder it works in', async () => {
  expect((await find({ limit: 3 }, { properties: { limit: {}, path: text } })).paths).toContain('.')
})

test('folders are told from files, and what names no path is about the folder it works in', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'src'))

  expect((await find({ path: 'src' }, { cwd })).folders).toEqual([join(cwd, 'src')])
  expect((await find({ path: 'src/new.ts' }, { cwd })).folders).toEqual([])
  expect((await find({ query: 'milk' }, { cwd })).folders).toEqual([cwd])
})

test('a URL that cannot be read is a host that nobody allowed', async () => {
  const schema = { roles: { hosts: ['url'] }, properties: { url: text } }

  expect((await find({ url: 'http://[bad' }, schema)).hosts).toEqual(['http://[bad'])
})

type Found = { roles?: ArgumentRoles | undefined; properties?: object; more?: object; cwd?: string }

function find(input: Record<string, unknown>, options: Found = {}) {
  const { properties = { path: text, query: text }, more, cwd = '/work' } = options
  const roles = 'roles' in options ? options.roles : { paths: ['path'] }
  return findCallTarget(input, { cwd, home: '/home/me' }, { roles, schema: { type: 'object', properties, ...more } })
}
