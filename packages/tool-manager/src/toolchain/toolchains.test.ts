import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { giveTree, resolveIdentity } from '../sandbox/identity.ts'
import { openSandbox } from '../sandbox/sandbox.ts'
import { findToolchains } from './toolchains.ts'

const identity = resolveIdentity()
const sandbox = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(sandbox.isBoxing)
if (!sandbox.isBoxing) process.stderr.write('NOT TESTED: nothing can be boxed here.\n')

let home: string
beforeEach(() => {
  home = join(realpathSync(mkdtempSync(join(tmpdir(), 'matrix-toolchain-'))), 'user')
  mkdirSync(home)
  chmodSync(dirname(home), 0o755)
})
afterEach(() => rmSync(dirname(home), { recursive: true }))

/** Where each manager puts a program, what PATH says, and what is read for it. */
const layouts = {
  nvm: { files: { '.nvm/versions/node/v20/bin/tool': prints() }, path: ['.nvm/versions/node/v20/bin'] },
  'nvm, by a link for the current version': {
    files: { '.nvm/versions/node/v20/bin/tool': prints() },
    links: { '.nvm/current': 'versions/node/v20' },
    path: ['.nvm/current/bin'],
  },
  fnm: {
    files: { '.local/share/fnm/node-versions/v20/installation/bin/tool': prints() },
    links: { 'run/fnm_multishells/7_1': '~/.local/share/fnm/node-versions/v20/installation' },
    path: ['run/fnm_multishells/7_1/bin'],
  },
  asdf: {
    files: {
      '.asdf/shims/tool': execs('.asdf/installs/tool/1.0/bin/tool'),
      '.asdf/installs/tool/1.0/bin/tool': prints(),
    },
    path: ['.asdf/shims'],
  },
  mise: {
    files: { '.local/share/mise/installs/tool/1.0/bin/tool': prints() },
    path: ['.local/share/mise/installs/tool/1.0/bin'],
  },
  pyenv: {
    files: { '.pyenv/shims/tool': execs('.pyenv/versions/3.11/bin/tool'), '.pyenv/versions/3.11/bin/tool': prints() },
    path: ['.pyenv/shims'],
  },
  sdkman: {
    files: { '.sdkman/candidates/java/17/bin/tool': prints() },
    links: { '.sdkman/candidates/java/current': '17' },
    path: ['.sdkman/candidates/java/current/bin'],
  },
  pipx: {
    files: {
      '.local/share/pipx/venvs/tool/bin/tool': '#!HOME/.local/share/pipx/venvs/tool/bin/python',
      '.local/share/pipx/venvs/tool/bin/python': prints(),
    },
    links: { '.local/bin/tool': '../share/pipx/venvs/tool/bin/tool' },
    path: ['.local/bin'],
  },
  'npm’s own prefix': {
    files: { '.npm-global/lib/node_modules/tool/cli.sh': prints() },
    links: { '.npm-global/bin/tool': '../lib/node_modules/tool/cli.sh' },
    path: ['.npm-global/bin'],
  },
  'a script whose interpreter lies elsewhere': {
    files: { 'bin/tool': '#!HOME/opt/interpreter/bin/run', 'opt/interpreter/bin/run': prints() },
    path: ['bin'],
  },
  'a home below a link': {
    files: { 'disk/tools/bin/tool': prints() },
    links: { tools: '~/disk/tools' },
    path: ['tools/bin'],
  },
} satisfies Record<string, Layout>

boxedTest.each(Object.entries<Layout>(layouts))(
  '%s: what runs outside runs inside, from the same path',
  async (_, layout) => {
    const found = find(lay(layout))

    expect(found.skipped).toEqual([])
    expect(await run('command -v tool; tool', found)).toBe(`${join(home, layout.path[0] ?? '')}/tool\nit runs\n`)
  },
)

boxedTest('nothing beside the toolchain can be read, and nothing of it written', async () => {
  const found = find(
    lay({
      files: {
        '.cargo/bin/tool': prints(),
        '.cargo/credentials.toml': 'canary',
        '.ssh/id_rsa': 'canary',
        '.npmrc': 'canary',
      },
      path: ['.cargo/bin'],
    }),
  )

  expect(await run(`tool; cat ${home}/.cargo/credentials.toml ${home}/.ssh/id_rsa ${home}/.npmrc`, found)).toBe(
    'it runs\n',
  )
  expect(await run(`touch ${home}/.cargo/bin/more || echo refused`, found)).toBe('refused\n')
  expect(found.folders).toEqual([join(home, '.cargo/bin')])
})

test('of an installation that keeps secrets, only the folders without any are read', () => {
  const { folders } = find(
    lay({
      files: {
        '.tool/bin/tool': prints(),
        '.tool/lib/library': '',
        '.tool/credentials.json': '',
        '.tool/account/token': '',
      },
      path: ['.tool/bin'],
    }),
  )

  expect(folders).toEqual([join(home, '.tool/bin'), join(home, '.tool/lib')])
})

test('the home itself, what holds it, and what is Matrix’s own are never read', () => {
  lay({ files: { tool: prints(), '.mxd/bin/tool': prints() }, path: [] })
  const path = [home, dirname(home), join(home, '.mxd/bin')]
  const { folders, skipped } = findToolchains({
    env: { PATH: path.join(':') },
    home,
    identity,
    kept: [join(home, '.mxd')],
  })

  expect(folders).toEqual([])
  expect(skipped.map((each) => each.path)).toEqual(path)
})

boxedTest('of a folder for settings only the program itself is read, and modules as a whole', async () => {
  const path = lay({
    files: {
      '.config/gh/tool': prints(),
      '.config/gh/hosts.yml': 'canary',
      '.config/yarn/global/node_modules/b/run': prints(),
    },
    links: { '.local/bin/tool': '../../.config/gh/tool', '.config/yarn/global/node_modules/.bin/b': '../b/run' },
    path: ['.local/bin', '.config/yarn/global/node_modules/.bin'],
  })
  const found = find(path)

  expect(found.folders).toContain(join(home, '.config/yarn/global/node_modules'))
  expect(await run(`tool; b; cat ${home}/.config/gh/hosts.yml`, found)).toBe('it runs\nit runs\n')
})

test('a variable that names more than a toolchain does not open it', () => {
  lay({ files: { '.local/share/keyrings/login': 'canary', '.config/tool/file': 'canary' }, path: [] })
  const env = {
    PATH: '',
    JAVA_HOME: home,
    GOROOT: join(home, '.local'),
    DENO_INSTALL: join(home, '.config'),
    CUDA_HOME: '/opt',
  }
  const { folders, skipped } = findToolchains({ env, home, identity })

  expect(folders).toEqual([])
  expect(skipped.length).toBe(existsSync('/opt') ? 4 : 3)
})

test.each([
  ['24', '#define NODE_MAJOR_VERSION 24\n', '1'],
  ['22', '#define NODE_MAJOR_VERSION 22\n', undefined],
  ['of an unknown version', '', undefined],
])('Node %s uses the proxy for fetch only where that prints no warning', (_, header, expected) => {
  const first = join(home, 'first/bin')
  const second = join(home, '.nvm/versions/node/v9/bin')
  for (const folder of [first, second, join(second, '../include/node')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(first, 'node'), 'not a program')
  writeFileSync(join(second, 'node'), '', { mode: 0o755 })
  writeFileSync(join(second, '../include/node/node_version.h'), `#define NODE_MINOR_VERSION 1\n${header}`)

  expect(find([first, second]).env.NODE_USE_ENV_PROXY).toBe(expected)
})

test('what cannot be used is left out and named with the reason', () => {
  mkdirSync(join(home, 'closed'), { mode: 0o000 })
  symlinkSync('nowhere', join(home, 'dangling'))
  symlinkSync('round', join(home, 'round'))
  writeFileSync(join(home, 'file'), '')
  const entries = ['missing', 'dangling', 'file', 'round', ...(identity || process.getuid?.() !== 0 ? ['closed'] : [])]
  const path = ['/snap/bin', '~/bin', ...entries.map((name) => join(home, name))]
  const { searchPath, skipped } = findToolchains({ env: { PATH: path.join(':') }, home, identity })

  expect(searchPath).toEqual([])
  expect(skipped.map(({ reason }) => reason)).toEqual([
    expect.stringContaining('snap daemon'),
    expect.stringContaining('only a shell'),
    'does not exist',
    'is a link that leads nowhere',
    'is not a folder',
    'cannot be read (ELOOP)',
    expect.stringContaining('may not read it'),
  ])
})

boxedTest('a toolchain that is removed after it was found keeps no sandbox from starting', async () => {
  const found = find(lay({ files: { '.tool/bin/tool': prints() }, path: ['.tool/bin'] }))
  rmSync(join(home, '.tool'), { recursive: true })

  expect(await run('echo started', found)).toBe('started\n')
})

type Layout = { files: Record<string, string>; links?: Record<string, string>; path: string[] }

function prints(): string {
  return '#!/bin/sh\necho it runs\n'
}

function execs(file: string): string {
  return `#!/bin/sh\nexec HOME/${file}\n`
}

function lay({ files, links = {}, path }: Layout): string[] {
  for (const [name, text] of Object.entries(files)) {
    const file = join(home, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text.replaceAll('HOME', home), { mode: 0o755 })
  }
  for (const [name, to] of Object.entries(links)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    symlinkSync(to.replace(/^~/, home), join(home, name))
  }
  return path.map((folder) => join(home, folder))
}

function find(path: readonly string[]) {
  return findToolchains({ env: { PATH: path.join(':') }, home, identity })
}

async function run(command: string, { searchPath, folders, env }: ReturnType<typeof find>): Promise<string> {
  const worktree = join(dirname(home), 'worktree')
  mkdirSync(worktree, { recursive: true })
  if (identity) giveTree(worktree, identity)
  const running = await sandbox.spawn({
    program: '/bin/bash',
    args: ['-c', command],
    env: { ...env, PATH: [...searchPath, '/usr/bin', '/bin'].join(':') },
    policy: { sideEffects: ['read', 'write', 'shell'], worktree, toolchains: folders },
  })
  return Buffer.concat(await running.stdout.toArray()).toString()
}
