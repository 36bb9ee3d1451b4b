import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { giveTree, openSandbox, resolveIdentity } from '@matrix/tool-manager'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type BoxSurroundingsOptions, boxSurroundings, openMachineToolchains } from './box-surroundings.ts'
import { cleanHome, measureProjects, openHomeKeeper } from './project-storage.ts'
import { openSurroundings } from './surroundings.ts'

const sandbox = await openSandbox({ mode: 'auto' })
const boxedTest = test.runIf(sandbox.isBoxing)
if (!sandbox.isBoxing) process.stderr.write('NOT TESTED: nothing can be boxed here.\n')

let data: string
let worktree: string
let home: string
beforeEach(() => {
  data = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-surroundings-')))
  worktree = join(data, 'projects/p1/worktrees/t1')
  home = join(data, 'projects/p1/home')
  mkdirSync(worktree, { recursive: true })
})
afterEach(() => rmSync(data, { recursive: true, force: true }))

test('the worktrees of a project share one home, which belongs to the one who runs there and to nobody else', async () => {
  const found = await boxSurroundings(worktree, options())
  const other = await boxSurroundings(join(data, 'projects/p1/worktrees/t2'), options())

  expect([found.home, other.home]).toEqual([home, home])
  expect(lstatSync(home)).toMatchObject({ uid: resolveIdentity()?.uid ?? process.getuid?.() })
  expect(lstatSync(home).mode & 0o777).toBe(0o700)
})

boxedTest('what a command puts into its home is found by the next one, and its programs come first', async () => {
  await run('mkdir -p ~/.local/bin && printf "#!/bin/sh\\necho mine" > ~/.local/bin/node && chmod +x ~/.local/bin/node')

  expect(await run('node; echo $HOME')).toBe('mine\n/home/agent\n')
})

test('a folder that is no worktree of a project has no home of one', async () => {
  expect(await boxSurroundings('/elsewhere', options())).not.toHaveProperty('home')
})

test('without a sandbox, tools keep the PATH and the home of the user', async () => {
  const { env, home, toolchains } = await openSurroundings(worktree, { ...options(), isBoxing: false })

  expect([env.PATH, home, toolchains]).toEqual([undefined, undefined, []])
})

boxedTest('caches are emptied and the rest stays; links out of the home lead nowhere', async () => {
  await boxSurroundings(worktree, options())
  const outside = join(data, 'repository')
  mkdirSync(outside)
  writeFileSync(join(outside, 'work'), 'mine')
  mkdirSync(join(home, '.cargo/registry'), { recursive: true })
  mkdirSync(join(home, 'go/pkg/mod'), { recursive: true })
  writeFileSync(join(home, 'go/pkg/mod/file'), 'x', { mode: 0o444 })
  writeFileSync(join(home, 'notes'), 'kept')
  symlinkSync(data, join(home, '.m2'))
  symlinkSync(data, join(home, '.cache'))
  const identity = resolveIdentity()
  if (identity) giveTree(home, identity)
  await cleanHome(sandbox, home)

  expect(readFileSync(join(outside, 'work'), 'utf8')).toBe('mine')
  expect(readFileSync(join(home, 'notes'), 'utf8')).toBe('kept')
  expect([
    existsSync(join(home, '.cargo/registry')),
    existsSync(join(home, 'go/pkg')),
    existsSync(join(home, '.cache')),
  ]).toEqual([false, false, false])
  await cleanHome(sandbox, home, { all: true })
  expect(existsSync(join(home, 'notes'))).toBe(false)
})

boxedTest('a home over its limit is named while in use, and its caches are emptied at the next start', async () => {
  const said: string[] = []
  const start = () =>
    boxSurroundings(
      worktree,
      options({
        homes: openHomeKeeper(sandbox, (message) => said.push(message)),
        settings: async () => ({ environment: [], cacheLimitGb: 0.001 }),
      }),
    )
  mkdirSync(join(home, '.npm'), { recursive: true })
  writeFileSync(join(home, '.npm/large'), Buffer.alloc(3_000_000, 'x'))
  await start()
  await vi.waitFor(() => expect(said).toEqual([expect.stringMatching(/ holds 3 MB, .*Run matrix projects clean\.$/)]))
  expect(await measureProjects(data)).toMatchObject([{ projectId: 'p1', home }])

  const identity = resolveIdentity()
  if (identity) giveTree(home, identity)
  await start()
  expect(said[1]).toMatch(/ held 3 MB, .*Its caches were emptied\.$/)
  expect(existsSync(join(home, '.npm'))).toBe(false)
})

function options(changes: Partial<BoxSurroundingsOptions> = {}): BoxSurroundingsOptions {
  return {
    dataDirectory: data,
    toolchains: openMachineToolchains(data),
    homes: openHomeKeeper(sandbox, () => {}),
    settings: async () => ({ environment: [], cacheLimitGb: 20 }),
    ...changes,
  }
}

async function run(command: string): Promise<string> {
  const { env, ...policy } = await boxSurroundings(worktree, options())
  const identity = resolveIdentity()
  if (identity) giveTree(worktree, identity)
  const running = await sandbox.spawn({
    program: '/bin/bash',
    args: ['-c', command],
    env: { ...env },
    policy: { ...policy, sideEffects: ['read', 'write', 'shell'], worktree },
  })
  return Buffer.concat(await running.stdout.toArray()).toString()
}
