import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readUserEnvironment } from './user-environment.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-shell-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a daemon that a terminal started has the PATH of that terminal', async () => {
  const env = { PATH: '/a:/b', SHLVL: '1' }

  expect(await readUserEnvironment({ env, shell: '/nowhere' })).toEqual({ env })
})

test('a daemon that a service manager started asks the login shell, whatever greets the user there', async () => {
  writeFileSync(join(folder, '.bash_profile'), 'echo Hello; export PATH=$HOME/tools:/usr/bin:/bin GOROOT=/go\n')
  const env = { HOME: folder, PATH: '/usr/bin', LANG: 'given' }

  expect(await readUserEnvironment({ env, shell: '/bin/bash' })).toMatchObject({
    env: { PATH: `${folder}/tools:/usr/bin:/bin`, GOROOT: '/go', LANG: 'given' },
  })
})

test('a shell that hangs or is not there costs only its time limit, and is named', async () => {
  const shell = join(folder, 'shell')
  writeFileSync(shell, '#!/bin/sh\nsleep 60\n')
  chmodSync(shell, 0o755)
  const env = { PATH: '/usr/bin' }

  expect(await readUserEnvironment({ env, shell, timeoutMs: 100 })).toEqual({
    env,
    problem: `${shell} did not answer within 0.1 s; its PATH is not known`,
  })
  expect(await readUserEnvironment({ env, shell: '/nowhere' })).toHaveProperty('problem')
})

test('what npm adds for the package that it runs is not the user’s', async () => {
  const env = {
    PATH: '/home/ada/shop/node_modules/.bin:/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin:/usr/bin',
    SHLVL: '1',
    npm_config_user_agent: 'npm/11',
    npm_config_cache: '/cache',
  }

  expect(await readUserEnvironment({ env })).toEqual({ env: { PATH: '/usr/bin', SHLVL: '1' } })
})
