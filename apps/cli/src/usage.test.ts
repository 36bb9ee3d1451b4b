import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigEntry } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { fakeDaemon, projectView, rootId, taskView } from './fake-daemon.testing.ts'
import { folderWith, matrix } from './matrix-process.testing.ts'

const child = taskView('01K1A000000000000000000000', { title: 'Write the parser', parentId: rootId })
const root = taskView(rootId, { title: 'Ship it', children: [child.id] })
const here = { listProjects: [projectView({ path: process.cwd() })], listTasks: [root, child] }

test('a number that is none is refused before anything is asked', async () => {
  const { env, asked } = await fakeDaemon(here)
  writeFileSync(join(env.MXD_DATA_DIR, 'daemon.log'), 'one\n')

  for (const wrong of ['x', '0', '-3', '1.5', ''])
    for (const args of [
      ['logs', 'root', '--last'],
      ['search', 'a', '--limit'],
      ['daemon', 'logs', '--last'],
    ])
      expect(await matrix([...args.slice(0, -1), `${args.at(-1)}=${wrong}`], { env }), args.join(' ')).toMatchObject({
        code: 2,
        stdout: '',
        stderr: `error: ${wrong} is not a number of things.\n  Give a whole number from 1 on.\n`,
      })
  expect(asked).toEqual([])
})

test('searching for nothing is refused', async () => {
  const { env } = await fakeDaemon(here)

  expect(await matrix(['search', ' '], { env })).toMatchObject({ code: 2, stderr: expect.stringContaining('a word') })
})

test('a port that is none is wrong usage, and nothing is started', async () => {
  const env = { MXD_DATA_DIR: folderWith() }

  for (const port of ['abc', '70000', '-1'])
    expect(await matrix(['daemon', 'start', `--port=${port}`], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${port} is not a port`),
    })
})

test('who names a project that is not there is told which there are, however it was named', async () => {
  const { env } = await fakeDaemon(here)
  const hint = 'There is demo: name one with --project, or register a repository with matrix init.'

  for (const args of [
    ['projects', 'rename', 'shop', 'store'],
    ['tree', '--project', 'shop'],
  ])
    expect(await matrix(args, { env })).toMatchObject({
      code: 2,
      stderr: `error: There is no project “shop”.\n  ${hint}\n`,
    })
})

test('a setting that is not set and one that there is not are told apart', async () => {
  const entry: ConfigEntry = {
    key: 'model',
    value: null,
    isSecret: false,
    origin: 'default',
    file: null,
    line: null,
    description: '',
    settableIn: ['global'],
  }
  const { env } = await fakeDaemon({ ...here, readConfig: { entries: [entry], problems: [] } })

  expect((await matrix(['config', 'get', 'model'], { env })).stderr).toBe(
    'error: model is not set.\n  Set it with matrix config set model <value>.\n',
  )
  for (const more of [[], ['--json']])
    expect(await matrix(['config', 'get', 'modle', ...more], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no setting modle'),
    })
})

test('text that is too long is not taken for a manifest', async () => {
  const { env, asked } = await fakeDaemon(here)
  const { code, stderr } = await matrix(['send', 'root', '-'], { env, input: 'x'.repeat(1_100_000) })

  expect([code, stderr]).toEqual([2, expect.stringMatching(/at most 1000000 are read\.\n {2}Give less at once/)])
  expect(asked.map(({ operation }) => operation)).not.toContain('sendMessage')
})

test('a task that nothing was said to names the command that starts it', async () => {
  const { env } = await fakeDaemon({ ...here, readEvents: { events: [], more: false, lastSeq: 0 } })

  expect((await matrix(['logs', 'parser'], { env })).stdout).toContain('matrix send 01K1A0000000 "…"')
})

test('a worktree is removed by the name of its task, or by the id when the task is gone', async () => {
  const orphan = '01K2B000000000000000000000'
  const worktree = { state: 'ready' as const, bytes: 1000, path: '/w', branch: 'mxd/x', stale: null }
  const { env, asked } = await fakeDaemon({
    ...here,
    listWorktrees: [
      { ...worktree, taskId: child.id },
      { ...worktree, taskId: orphan, stale: 'Its task is gone.' },
    ],
    removeWorktree: { snapshot: null },
  })

  for (const name of ['parser', '01k1a', '01k2b']) await matrix(['worktrees', 'remove', name, '--yes'], { env })
  expect(asked.filter(({ operation }) => operation === 'removeWorktree').map(({ params }) => params)).toMatchObject([
    { taskId: child.id },
    { taskId: child.id },
    { taskId: orphan },
  ])
  expect(await matrix(['worktrees', 'remove', 'nothing', '--yes'], { env })).toMatchObject({ code: 2 })
  expect((await matrix(['worktrees'], { env })).stdout).toMatch(
    /01K2B0000000 .* mxd\/x\n {2}\/w\n {2}Its task is gone\.\n$/,
  )
})
