import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEventStore } from '@matrix/event-store'
import { type DurableEvent, loopTools, TaskNode } from '@matrix/protocol'
import { rebuildTree } from '@matrix/task-tree'
import { type MadeUpSession, writeSessions } from '../event-store/made-up-sessions.ts'
import { type Benchmark, median } from '../figure.ts'
import { configure, makeHome, removeHome, startDaemon } from './arena.ts'

const sessions = Number(process.env.MATRIX_BENCH_SESSIONS ?? 1000)
const each = Number(process.env.MATRIX_BENCH_EACH ?? 1000)
/** A twentieth of the agents waits to be spoken to, as many have done their work, and the others are over for good. */
const statuses = ['in_progress', 'passed', ...Array.from({ length: 18 }, () => 'closed' as const)] as const
const rounds = 5

/** What people wait for after the daemon was killed over a large data directory. */
export const benchmark: Benchmark = {
  name: 'restart',
  async measure() {
    const home = await makeDataDirectory()
    const ready: number[] = []
    // The first start may still have something to put right.
    for (let round = 0; round <= rounds; round += 1) {
      const daemon = await startDaemon(home)
      if (round > 0) ready.push(daemon.readyMs)
      await daemon.end('SIGKILL')
    }
    return [
      {
        name: `ready after kill -9, ${sessions} sessions, ${sessions * each} events`,
        unit: 'ms',
        ours: median(ready),
        floor: 2000,
        against: 'allowed',
        limit: 1,
      },
    ]
  },
}

/** Made once and kept, because writing it takes minutes. */
async function makeDataDirectory(): Promise<string> {
  const home = fileURLToPath(new URL(`../../node_modules/.cache/restart-${sessions}-${each}`, import.meta.url))
  const whole = join(home, 'whole')
  if (existsSync(whole)) return home
  removeHome(home)
  mkdirSync(home, { recursive: true })
  makeHome(home)
  configure(home, { url: 'http://127.0.0.1:9' })
  const { projectId, root } = await registerProject(home)
  const directory = join(home, 'data/projects', projectId)
  const tasks = Array.from({ length: sessions }, (_, n) => madeUpTask(root, n))
  await (await rebuildTree(directory, [root, ...tasks])).close()
  await writeSessions(join(directory, 'sessions'), tasks.map(madeUpSession))
  const store = await openEventStore(directory)
  await store.index.catchUp()
  await store.close()
  writeFileSync(whole, '')
  return home
}

async function registerProject(home: string): Promise<{ projectId: string; root: TaskNode }> {
  const daemon = await startDaemon(home)
  const { id } = await daemon.ask<{ id: string }>('POST', '/api/projects', {
    path: join(home, 'shop'),
    setup: { choice: 'none' },
  })
  const [root] = await daemon.ask<object[]>('GET', `/api/projects/${id}/tasks`)
  await daemon.end('SIGTERM')
  return { projectId: id, root: TaskNode.parse(root) }
}

function madeUpTask(root: TaskNode, n: number): TaskNode {
  return {
    id: `01K${String(n).padStart(23, '0')}`,
    title: `Task ${n}`,
    description: '',
    status: statuses[n % statuses.length] ?? 'closed',
    branch: null,
    parentId: root.id,
    children: [],
    worktreePath: null,
    costUsd: 0,
    editedBy: 'agent',
    persistent: false,
    createdAt: root.createdAt,
    updatedAt: root.updatedAt,
  }
}

function madeUpSession({ id, title, status, createdAt }: TaskNode): MadeUpSession {
  const stamp = { taskId: id, ts: createdAt }
  const started: DurableEvent = { type: 'task_started', ...stamp, title, branch: '', worktreePath: '' }
  const end: DurableEvent =
    status === 'in_progress'
      ? { type: 'tool_call', ...stamp, callId: 'wait', name: loopTools.yield, input: {} }
      : { type: 'orchestration_completed', ...stamp, exitReason: 'done_passed', output: 'Done.', costUsd: 0, turns: 1 }
  return { id, events: each, first: [started], last: [end] }
}
