import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type Conversation, openMockProvider } from '@matrix/mock-provider'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readTool, serverScript } from '../local-server.testing.ts'
import { type Ended, folderWith, manifestText, matrix } from '../matrix-process.testing.ts'
import { packPackage, serveRegistry } from '../npm-registry.testing.ts'

const seconds = 120_000
const call = (name: string, input: object = {}) => ({ toolCalls: [{ name: `mcp__mxd__${name}`, input }] })
const greets = call('write_file', { path: 'greeting.txt', content: 'hello\n' })

test('from nothing to merged work, by commands alone', { timeout: seconds }, async () => {
  const { repository, run, json } = await machine([
    {
      match: 'Greeter',
      turns: [
        call('clarify', { question: 'Which language?', options: ['English', 'German'] }),
        greets,
        call('commit', { message: 'feat: a greeting' }),
        call('done', { status: 'passed', summary: 'Wrote it.' }),
      ],
    },
    {
      turns: [
        call('create_task', { title: 'Greeter', description: 'Write a greeting' }),
        {
          capture: { id: { from: 'toolResults', pattern: 'Created task (\\w+)' } },
          ...call('send_message', { taskId: '{{id}}', content: 'Go' }),
        },
        call('yield'),
        call('merge_task', { taskId: '{{id}}' }),
        call('done', { status: 'passed', summary: 'Greeted.' }),
      ],
    },
  ])

  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))
  expect(await run('init', '--port', '0')).toMatchObject({ code: 2, stderr: expect.stringContaining('--setup none') })
  expect(await run('daemon', 'start')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The daemon runs already at http://127.0.0.1:'),
  })
  expect(await run('send', 'root', 'Write a greeting')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Kept for .*, not started\..*\n.*matrix init/),
  })
  const [setup] = await json('approve', '--list')
  expect(await run('approve', '--scope', 'always', '--digest', setup.approval.inputDigest)).toMatchObject({ code: 0 })
  await vi.waitFor(async () => expect((await run('tree')).stdout).toMatch(/\? Greeter .*asks/), soon)
  expect(await run('answer', 'greeter', '2')).toMatchObject({ code: 0, stdout: 'Answered.\n' })
  await vi.waitFor(async () => expect((await json('task', 'show', 'root')).status).toBe('passed'), soon)

  const log = (await run('logs', 'greeter')).stdout
  expect(log).toMatch(/Asks you .*\n {2}Which language\?\n {2}- English\n {2}- German\nAnswer .*\n {2}German\n/)
  expect(log).toContain('▸ Commit feat: a greeting')
  expect((await run('diff', 'root')).stdout).toContain('+hello')
  expect(await run('merge', 'root', '--yes', '--update-checkout')).toMatchObject({ code: 0 })
  expect(readFileSync(join(repository, 'greeting.txt'), 'utf8')).toBe('hello\n')
  expect((await json('cost'))[0].turns).toBeGreaterThan(0)
  expect(await run('search', 'greeting')).toMatchObject({ code: 0 })

  const { pid } = await json('daemon', 'status')
  expect(await run('daemon', 'restart', '--port', '0')).toMatchObject({ code: 0 })
  expect((await json('daemon', 'status')).pid).not.toBe(pid)
  expect((await run('tree')).stdout).toMatch(/✔ .*passed/)
  expect(await run('daemon', 'stop')).toMatchObject({ code: 0 })
  expect(await run('daemon', 'status')).toMatchObject({ code: 4 })
})

test('the daemon shows the demo when it is asked to', { timeout: seconds }, async () => {
  const env = { MXD_DATA_DIR: folderWith() }
  const run = (...args: string[]) => matrix(args, { env })
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))

  expect(await run('daemon', 'start', '--demo', '--port', '0')).toMatchObject({ code: 0 })
  expect((await run('projects')).stdout).toContain('tally')
  expect((await run('daemon', 'status')).stdout).toContain('a script (no key is set)')
})

test('a second daemon on the same data is refused in one sentence', { timeout: seconds }, async () => {
  const { run } = await machine([])
  const [first, second] = await Promise.all([
    run('daemon', 'start', '--port', '0'),
    run('daemon', 'start', '--port', '0'),
  ])
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))

  const failed = [first, second].filter(({ code }) => code !== 0)
  expect(failed.length).toBeLessThanOrEqual(1)
  for (const { stderr } of failed) expect(stderr.trim().split('\n')).toHaveLength(2)
  expect(await run('daemon', 'start')).toMatchObject({ code: 0, stdout: expect.stringContaining('runs already') })
})

test('what a killed daemon left behind keeps none from starting, and whoever has its process id now is left alone', {
  timeout: seconds,
}, async () => {
  const { data, run, json } = await machine([])
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))
  await run('daemon', 'start', '--port', '0')
  const { pid } = await json('daemon', 'status')
  const left = ['daemon.json', 'lock.json'].map((name) => [join(data, name), readFileSync(join(data, name), 'utf8')])
  const stranger = spawn('sleep', ['600'])
  onTestFinished(() => void stranger.kill('SIGKILL'))
  expect(await run('daemon', 'stop', '--force')).toMatchObject({ code: 0 })
  for (const [file = '', text = ''] of left) writeFileSync(file, text.replace(`${pid}`, `${stranger.pid}`))

  expect(await run('daemon', 'status')).toMatchObject({ code: 4, stderr: expect.stringContaining('No daemon runs on') })
  for (const force of [[], ['--force']])
    expect(await run('daemon', 'stop', ...force)).toMatchObject({ code: 0, stdout: 'No daemon runs.\n' })
  expect(await run('daemon', 'start', '--port', '0')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^The daemon runs at/),
  })
  expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null])
})

test('a daemon that is restarted runs as it was started, but for what is said anew', { timeout: seconds }, async () => {
  const env = { MXD_DATA_DIR: folderWith() }
  const run = (...args: string[]) => matrix(args, { env })
  const url = async () => JSON.parse((await run('daemon', 'status', '--json')).stdout).url
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))
  const [first, second] = [await freePort(), await freePort()]
  await run('daemon', 'start', '--demo', '--port', `${first}`)

  expect(await run('daemon', 'restart')).toMatchObject({ code: 0 })
  expect(await url()).toBe(`http://127.0.0.1:${first}`)
  expect((await run('daemon', 'status')).stdout).toContain('a script (no key is set)')
  expect(await run('daemon', 'restart', '--port', `${second}`)).toMatchObject({ code: 0 })
  expect(await url()).toBe(`http://127.0.0.1:${second}`)
  expect((await run('daemon', 'status')).stdout).toContain('a script (no key is set)')
})

test('the port in the settings holds from the next start on', { timeout: seconds }, async () => {
  const { run, json } = await machine([])
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))
  const [first, second] = [await freePort(), await freePort()]
  await run('config', 'set', 'port', `${first}`)
  await run('daemon', 'start')
  const before = await json('daemon', 'status')
  await run('config', 'set', 'port', `${second}`)
  await run('daemon', 'restart')

  expect([before.url, (await json('daemon', 'status')).url]).toEqual([
    `http://127.0.0.1:${first}`,
    `http://127.0.0.1:${second}`,
  ])
})

test('a daemon that does not answer is named, not started again, and ended by force', {
  timeout: seconds,
}, async () => {
  const { run, json } = await machine([])
  await run('daemon', 'start', '--port', '0')
  const { pid } = await json('daemon', 'status')
  process.kill(pid, 'SIGSTOP')
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))

  const silent = { code: 4, stderr: expect.stringContaining(`process ${pid}`) }
  expect(await run('daemon', 'status')).toMatchObject(silent)
  expect(await run('daemon', 'start', '--port', '0')).toMatchObject(silent)
  expect(await run('daemon', 'stop', '--force')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('has ended'),
  })
  expect(await run('daemon', 'stop')).toMatchObject({ code: 0, stdout: 'No daemon runs.\n' })
})

test('a daemon that cannot even say that the disk is full is spoken for', { timeout: seconds }, async () => {
  const data = folderWith()
  mkdirSync(join(data, 'lock.db'))
  symlinkSync('/dev/full', join(data, 'daemon.stderr'))

  expect(await matrix(['daemon', 'start', '--port', '0'], { env: { MXD_DATA_DIR: data } })).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(`The daemon cannot write to ${data}\\.\n  Free some disk space`),
  })
})

test('a headless run passes when the agent does, leaves its branch and nothing else', {
  timeout: seconds,
}, async () => {
  const { repository, run, temporary } = await machine([
    {
      turns: [
        call('clarify', { question: 'Which?' }),
        greets,
        call('commit', { message: 'feat: x' }),
        call('done', { status: 'passed', summary: 'All there.' }),
      ],
    },
  ])

  expect(await run('run', 'Go', '--yes-for', 'setup', '--merge')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/✔ Passed .*\n {2}All there\.\nMerged into the base branch/),
  })
  expect(readFileSync(join(repository, 'greeting.txt'), 'utf8')).toBe('hello\n')
  expect(git(repository, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
  expect(readdirSync(temporary)).toEqual([])
})

test('a merge that is refused is part of the result of the run, which names the branch and leaves no key behind', {
  timeout: seconds,
}, async () => {
  const turns = [
    greets,
    call('commit', { message: 'feat: x' }),
    call('done', { status: 'passed', summary: 'All there.' }),
  ]
  const { repository, run, temporary } = await machine([{ turns }, { turns }])
  writeFileSync(join(repository, 'greeting.txt'), 'mine\n')
  const shown = await run('run', 'Go', '--yes-for', 'setup', '--merge')
  const told = await run('run', 'Go', '--yes-for', 'setup', '--merge', '--json')

  expect(shown).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /✔ Passed .*\n {2}All there\.\nNot merged: .*greeting\.txt.*\n {2}\S.*\nThe work is on (mxd\/\S+): git merge \1\n/,
    ),
  })
  expect([told.code, JSON.parse(told.stdout.trim().split('\n').at(-1) ?? '')]).toMatchObject([
    1,
    {
      kind: 'result',
      result: 'passed',
      exitCode: 1,
      merged: { outcome: 'refused', problem: { hint: expect.stringMatching(/\S/) } },
    },
  ])
  expect(readFileSync(join(repository, 'greeting.txt'), 'utf8')).toBe('mine\n')
  expect(readdirSync(temporary)).toEqual([])
})

test('a run that cannot begin leaves nothing behind', { timeout: seconds }, async () => {
  const { run, temporary } = await machine([])

  expect(await run('run', 'Go', '--folder', folderWith())).toMatchObject({ code: 2 })
  expect(await run('run', 'Go', '--model', '', '--yes-for', 'setup')).toMatchObject({ code: 2 })
  expect(await run('run', '--data', join(temporary, 'slip'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no run in'),
  })
  expect(readdirSync(temporary)).toEqual([])
})

test('a headless run tells programs every frame, and the result last', { timeout: seconds }, async () => {
  const { run } = await machine([{ turns: [call('done', { status: 'failed', summary: 'Cannot.' })] }])
  const { code, stdout } = await run('run', 'Go', '--yes-for', 'setup', '--json', '--data', folderWith())
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

  expect(code).toBe(1)
  expect(lines.at(-1)).toMatchObject({ kind: 'result', result: 'failed', output: 'Cannot.', exitCode: 1 })
  expect(lines.slice(0, -1).every(({ kind }) => kind !== 'result')).toBe(true)
})

test('everything that would stop a run is said at once, and nothing is left behind', { timeout: seconds }, async () => {
  const { repository, run, temporary } = await machine([{ turns: [] }])
  const env = { MXD_DATA_DIR: folderWith(), TMPDIR: temporary, HOME: folderWith(), GIT_CONFIG_NOSYSTEM: '1' }
  const refused = await matrix(['run', 'Go'], { cwd: repository, env })

  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(
    /No key is set.*\n.*matrix auth set.*\n.*name and email.*\n.*git config.*\n.*not decided.*\n.*--setup auto/,
  )
  writeFileSync(join(repository, 'setup.sh'), 'exit 3\n')
  expect(await run('run', 'Go', '--setup', 'setup.sh')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/Stuck(?:.*\n)*Nothing was done yet, so nothing is kept\./),
  })
  // The agent's worktree is there, and then there is no manifest for it to work by.
  expect(await run('config', 'set', 'agent', 'nobody')).toMatchObject({ code: 0 })
  expect(await run('run', 'Go', '--setup', 'none')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('Nothing was done yet, so nothing is kept.'),
  })
  expect(readdirSync(temporary)).toEqual([])
  expect(git(repository, 'branch', '--list', 'mxd/*')).toBe('')
  expect(git(repository, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
})

test('a run takes the setup that was decided for its repository with init', { timeout: seconds }, async () => {
  const { run } = await machine([{ turns: [call('done', { status: 'passed', summary: 'All there.' })] }])
  onTestFinished(async () => void (await run('daemon', 'stop', '--force')))

  expect(await run('run', 'Go')).toMatchObject({ code: 1, stderr: expect.stringContaining('not decided') })
  expect(await run('init', '--yes', '--port', '0')).toMatchObject({ code: 0 })
  expect(await run('run', 'Go')).toMatchObject({ code: 0, stdout: expect.stringContaining('All there.') })
})

test('a headless run ends when its budget, its time or the agent’s ideas do', { timeout: seconds }, async () => {
  const spending = { ...call('yield'), usage: { inputTokens: 1_000_000, outputTokens: 100_000 } }
  const { run } = await machine([
    { match: 'Spend', turns: [spending, spending, spending, spending] },
    { match: 'Sleep', turns: [{ delayMs: 60_000, text: 'Good morning.' }] },
    { match: 'Idle', turns: [{ text: 'Hm.' }, { text: 'Hm.' }, { text: 'Hm.' }, { text: 'Hm.' }] },
  ])
  const ended = (goal: string, ...args: string[]): Promise<Ended> =>
    run('run', goal, '--yes-for', 'setup', '--data', folderWith(), ...args)

  expect(await ended('Spend', '--budget', '0.5')).toMatchObject({
    code: 5,
    stdout: expect.stringContaining('Budget used up'),
  })
  expect(await ended('Sleep', '--timeout', '4s')).toMatchObject({
    code: 124,
    stdout: expect.stringContaining('Timed out'),
  })
  expect(await ended('Idle')).toMatchObject({ code: 1, stdout: expect.stringContaining('Stuck') })
})

const soon = { timeout: 60_000, interval: 200 }

test('a headless run works with the agents of the user, and fetches a package once for all runs', {
  timeout: seconds,
}, async () => {
  const folder = folderWith({
    'package.json': JSON.stringify({ name: 'notes-server', version: '1.0.0', bin: 'server.cjs' }),
    'server.cjs': `#!/usr/bin/env node\n${serverScript([readTool])}`,
  })
  const packed = packPackage(folder)
  const registry = await serveRegistry(packed)
  const reads = { toolCalls: [{ name: 'mcp__notes__read_note', input: { path: 'milk' } }] }
  const ends = { assert: { toolResults: [/milk/] }, ...call('done', { status: 'passed', summary: 'Read it.' }) }
  const { run, data } = await machine([{ turns: [reads, ends] }, { turns: [reads, ends] }], {
    env: { npm_config_registry: registry.url, HOME: folder },
  })
  mkdirSync(join(data, 'agents'))
  const agent = JSON.parse(
    manifestText({
      alias: 'notes',
      args: ['-y', 'notes-server@1.0.0'],
      version: '1.0.0',
      package_digest: `sha256:${createHash('sha256').update(packed.tarball).digest('hex')}`,
      tools: [{ name: 'read_note', side_effect_class: 'read' }],
    }),
  )
  writeFileSync(join(data, 'agents/noted.json'), JSON.stringify(agent))
  expect(await run('config', 'set', 'agent', 'noted')).toMatchObject({ code: 0 })

  for (const own of [folderWith(), folderWith()]) {
    const { code, stdout } = await run('run', 'Go', '--yes-for', 'setup', '--yes-for', 'read', '--data', own)
    expect([code, stdout], stdout).toEqual([0, expect.stringContaining('Read it.')])
    expect(readdirSync(own)).not.toContain('packages')
  }
  expect(registry.fetched()).toBe(1)
  expect(readdirSync(join(data, 'packages'))).not.toEqual([])
})

/** A repository, a data directory, and a model that plays a part. */
async function machine(conversations: Conversation[], { env: more = {} }: { env?: Record<string, string> } = {}) {
  const mock = await openMockProvider({ playbook: { conversations } })
  const data = folderWith({
    'config.json': JSON.stringify({
      agent: 'solo',
      authGroups: { mock: { anthropicApiKey: 'mock', anthropicBaseUrl: mock.url } },
    }),
  })
  const temporary = folderWith()
  const repository = realpathSync(folderWith({ 'README.md': '# Shop\n' }))
  git(repository, 'init', '-q', '-b', 'main')
  git(repository, 'add', '-A')
  git(repository, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'first')
  const env = {
    MXD_DATA_DIR: data,
    TMPDIR: temporary,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
    ...more,
  }
  onTestFinished(() => mock.close())
  const run = (...args: string[]): Promise<Ended> => matrix(args, { cwd: repository, env })
  return {
    data,
    repository,
    temporary,
    run,
    json: async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout),
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
}
