import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appeared, ended, isRunning } from './process-state.testing.ts'
import { type ScratchRepository, scratchRepository } from './scratch-repository.ts'
import { openTree } from './task-tree.ts'

const kills = Number(process.env.MATRIX_KILLS ?? 3)
let scratch: ScratchRepository
beforeEach(async () => {
  scratch = await scratchRepository()
})
afterEach(() => scratch.remove())

test(
  `a process killed ${kills} times at any moment loses no task and no work it told of`,
  async () => {
    const told: string[] = []
    for (let kill = 0; kill < kills; kill++) {
      const child = start(working)
      child.stdout?.on('data', (text: Buffer) => told.push(...text.toString('utf8').trim().split('\n')))
      await once(child.stdout ?? child, 'data')
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 900))
      child.kill('SIGKILL')
      await once(child, 'close')

      const tree = await openTree(join(scratch.home, 'tree'))
      const worktrees = await scratch.open()
      await worktrees.recover()
      for (const { state } of await worktrees.list()) expect(state).toBe('ready')
      for (const line of told) {
        const [what, taskId = ''] = line.split(' ')
        expect(tree.find(taskId), line).toBeDefined()
        if (what !== 'removed') continue
        const [saved] = await worktrees.snapshots(taskId)
        expect(scratch.git('show', `${saved?.commit}:work`)).toBe(taskId)
      }
      for (const { taskId } of await worktrees.list()) await worktrees.remove({ taskId })
    }
    expect(told.length).toBeGreaterThan(kills)
  },
  60_000 + kills * 20_000,
)

test('a setup script that outlives its process is ended before its worktree is taken back', async () => {
  const pidFile = join(scratch.home, 'pid')
  const script = `printf %s $$ > "$1"; echo $$ > '${pidFile}.new'; mv '${pidFile}.new' '${pidFile}'; sleep 300`
  const child = start(working, { SETUP: script })
  const pid = Number(await appeared(pidFile))
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(await isRunning(pid)).toBe(true)

  const worktrees = await scratch.open()
  expect(await worktrees.recover()).toMatchObject([{ did: 'undid creation' }])
  await ended(pid)
  expect(await worktrees.list()).toEqual([])
})

/** Creates tasks and worktrees, works in them and removes them, telling of each step once it is done. */
const working = `
  const { createTask, createTree, openTree, openWorktrees } = await import(process.env.PACKAGE)
  const { writeFile } = await import('node:fs/promises')
  const { spawnSync } = await import('node:child_process')
  const setUp = ({ worktree, processFile }) => void (process.env.SETUP && spawnSync(
    'setsid', ['sh', '-c', process.env.SETUP, 'setup', processFile],
    { cwd: worktree, env: { ...process.env, MXD_WORKTREE: worktree } },
  ))
  const tell = (what, id) => process.stdout.write(what + ' ' + id + '\\n')
  const folder = process.env.HOME + '/tree'
  const tree = await openTree(folder).catch(() => createTree(folder, { title: 'Root', baseBranch: 'trunk' }))
  const worktrees = await openWorktrees({ repository: process.env.REPOSITORY, directory: process.env.WORKTREES })
  tell('root', tree.root().id)
  for (;;) {
    const { id: taskId, title } = await createTask(tree, tree.root().id, { title: 'Task' }, { editedBy: 'user' })
    tell('task', taskId)
    const { path } = await worktrees.create({ taskId, title, baseBranch: 'trunk', setUp })
    await writeFile(path + '/work', taskId)
    tell('made', taskId)
    await worktrees.remove({ taskId })
    tell('removed', taskId)
  }
`

function start(script: string, more: Record<string, string> = {}): ChildProcess {
  const env = {
    ...more,
    PATH: process.env.PATH,
    HOME: scratch.home,
    REPOSITORY: scratch.checkout,
    WORKTREES: scratch.worktrees,
    PACKAGE: new URL('./index.ts', import.meta.url).href,
  }
  return spawn(process.execPath, ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
