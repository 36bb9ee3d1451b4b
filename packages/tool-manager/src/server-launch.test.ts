import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bootHarness, scriptedServer, temporaryFolder, textOf } from './scripted-server.testing.ts'

test('code that an option or a variable brings in is never started, whatever the digest of the file', async () => {
  const worktree = temporaryFolder()
  const mark = join(worktree, 'ran')
  const code = `data:text/javascript,import{writeFileSync}from"fs";writeFileSync(${JSON.stringify(mark)},"")`
  const { args = [] } = scriptedServer()
  for (const server of [
    scriptedServer({}, { args: ['--import', code, ...args] }),
    scriptedServer({}, { args: [`--import=${code}`, ...args] }),
    scriptedServer({}, { args: ['--require', join(worktree, 'x.cjs'), ...args] }),
    scriptedServer({}, { env: [`NODE_OPTIONS=--import=${code}`] }),
    scriptedServer({}, { env: { NODE_OPTIONS: `--require=${join(worktree, 'x.cjs')}` } }),
    scriptedServer({}, { command: 'env', args: [`NODE_OPTIONS=--import=${code}`, 'node', ...args] }),
  ]) {
    const { call } = await bootHarness({ servers: [server], worktree })
    expect(await call('echo', { value: 1 })).toMatchObject({ isError: true, error: { code: 'PACKAGE_UNVERIFIABLE' } })
  }
  expect(existsSync(mark)).toBe(false)
})

test('options that load nothing are passed on', async () => {
  const { args = [] } = scriptedServer()
  const server = scriptedServer(
    {},
    { args: ['--no-warnings', ...args], env: ['NODE_OPTIONS=--max-old-space-size=512'] },
  )
  const { call } = await bootHarness({ servers: [server] })

  expect(textOf(await call('echo', { value: 'as ever' }))).toBe('as ever')
})
