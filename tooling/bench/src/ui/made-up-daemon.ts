import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'
import type { Attention, BackgroundProcess, Frame, Overlap, ProjectView, TaskView } from '@matrix/protocol/http'
import { makeUpChanges } from './made-up-changes.ts'
import { makeUpEvent } from './made-up-session.ts'
import { makeUpTools } from './made-up-tools.ts'

type Options = { port: number; tasks: number; working: number; events: number; dist?: string; framesPerSecond?: number }

const now = () => new Date().toISOString()
const id = (number: number) => `01M0NA${String(number).padStart(20, '0')}`
const projectId = id(0)

/** A daemon that serves the contract with data nobody made: for measuring the page, and nothing else. */
export async function startMadeUpDaemon(options: Options): Promise<{ url: string; close(): void }> {
  const world = makeUpWorld(options)
  const streams = new Set<ServerResponse>()
  let frameId = 0
  const send = (stream: ServerResponse, frame: Frame) => {
    frameId += 1
    stream.write(`id: made.${frameId}\ndata: ${JSON.stringify(frame)}\n\n`)
  }
  const broadcast = (frame: Frame) => {
    for (const stream of streams) send(stream, frame)
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://made.up')
    if (url.pathname === '/api/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      streams.add(response)
      request.on('close', () => streams.delete(response))
      send(response, { kind: 'resync', reason: 'start' })
      return
    }
    if (!url.pathname.startsWith('/api') && url.pathname !== '/health') {
      await serveFile(options.dist, url.pathname, response)
      return
    }
    const body = await readBody(request)
    const answer = world.answer(request.method ?? 'GET', url, body, broadcast)
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(answer ?? { code: 'ROUTE_UNKNOWN', message: `Nothing at ${url.pathname}`, hint: 'None.' }),
    )
  })
  await new Promise<void>((done) => server.listen(options.port, '127.0.0.1', done))
  const timer = setInterval(() => world.tick(broadcast), 50)
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      clearInterval(timer)
      for (const stream of streams) stream.destroy()
      server.close()
    },
  }
}

function makeUpWorld({ tasks: count, working, events, framesPerSecond = 200 }: Options) {
  const tasks = new Map(
    Array.from({ length: count }, (_, index) => makeUpTask(index, { count, working, events })).map((task) => [
      task.id,
      task,
    ]),
  )
  const project: ProjectView = {
    id: projectId,
    name: 'made-up',
    path: '/home/you/made-up',
    rootTaskId: id(1),
    baseBranch: 'main',
    problem: null,
    agents: { live: working, working },
    costUsd: 12.34,
    isDemo: true,
    registeredAt: '2026-11-16T06:00:00.000Z',
  }
  const attention: Attention[] = makeUpAttention()
  const busy = [...tasks.values()].filter(({ activity }) => activity === 'working')
  let turn = 0

  function tick(broadcast: (frame: Frame) => void): void {
    for (let sent = 0; sent < framesPerSecond / 20; sent += 1) {
      turn += 1
      const task = busy[turn % Math.max(1, busy.length)]
      if (!task) return
      const at = { projectId, taskId: task.id }
      if (turn % 5 !== 0) {
        broadcast({
          kind: 'live',
          ...at,
          event: { type: 'text_delta', taskId: task.id, ts: now(), text: `word ${turn} ` },
        })
        continue
      }
      task.lastSeq += 1
      task.costUsd += 0.001
      task.lastAt = now()
      broadcast({ kind: 'event', ...at, ...makeUpEvent(task.id, task.lastSeq) })
      broadcast({ kind: 'task', projectId, task: { ...task } })
    }
  }

  function answer(method: string, url: URL, body: unknown, broadcast: (frame: Frame) => void): unknown {
    const path = url.pathname.replace(`/api/projects/${projectId}`, '')
    const [, section, taskId = '', verb] = path.split('/')
    if (url.pathname === '/health') return { ok: true, version: '0.0.0' }
    if (url.pathname === '/api/projects') return [project]
    if (url.pathname === '/api/attention') return attention
    if (url.pathname === '/api/status') return makeUpStatus(working)
    if (url.pathname === '/api/costs') return makeUpCosts(url.searchParams.get('by') ?? 'day', [...tasks.values()])
    if (url.pathname === '/api/config') return { entries: [], problems: [] }
    if (section === 'processes') return makeUpProcess(taskId)
    if (section === 'overlaps') return makeUpOverlaps()
    if (section !== 'tasks') return undefined
    if (taskId === '') return [...tasks.values()]
    const task = tasks.get(taskId)
    if (!task) return undefined
    if (verb === 'events') return readPage(task, url.searchParams)
    if (verb === 'messages') return []
    if (verb === 'tools') return makeUpTools()
    if (verb === 'changes') return makeUpChanges(url.searchParams)
    if (verb === 'message') return sendMessage(task, body, broadcast)
    if (verb === 'stop') return { stopped: [task.id] }
    if (verb === 'merge') return { outcome: 'merged', commit: 'abcdef0123456789' }
    if (method === 'PATCH') {
      Object.assign(task, body)
      broadcast({ kind: 'task', projectId, task: { ...task } })
      return task
    }
    return {
      ...task,
      agentName: 'coder',
      targetBranch: 'main',
      pending: [],
      usage: { inputTokens: 120_000, outputTokens: 9000, cacheReadTokens: 800_000, cacheWriteTokens: 40_000 },
    }
  }

  return { tick, answer }
}

function sendMessage(task: TaskView, body: unknown, broadcast: (frame: Frame) => void): unknown {
  const text = String((body as { text?: unknown }).text)
  const messageId = `sent-${Date.now()}`
  const at = { projectId, taskId: task.id }
  const stamp = { taskId: task.id, ts: now() }
  task.lastSeq += 1
  const message = { source: 'user' as const, id: messageId, text }
  broadcast({ kind: 'event', ...at, seq: task.lastSeq, event: { type: 'message', ...stamp, message } })
  return { messageId }
}

function readPage(task: TaskView, query: URLSearchParams): unknown {
  const limit = Number(query.get('limit') ?? 200)
  const last = task.lastSeq
  const after = query.has('after')
    ? Number(query.get('after'))
    : Math.max(0, Number(query.get('before') ?? last + 1) - 1 - limit)
  const size = Math.max(0, Math.min(limit, last - after))
  const events = Array.from({ length: size }, (_, index) => makeUpEvent(task.id, after + index + 1))
  return { events, more: after + size < last, lastSeq: last }
}

function makeUpTask(
  index: number,
  { count, working, events }: { count: number; working: number; events: number },
): TaskView {
  const isRoot = index === 0
  const parent = isRoot ? null : id(1 + Math.floor((index - 1) / 8))
  const children = Array.from({ length: 8 }, (_, child) => index * 8 + 1 + child).filter((child) => child < count)
  const isWorking = index > 0 && index <= working
  return {
    id: id(index + 1),
    projectId,
    title: isRoot
      ? 'Everything'
      : `Task ${index}: ${['parse the input', 'write the tests', 'draw the page'][index % 3]}`,
    description: 'Do what the title says.\n\n- carefully\n- with **tests**',
    status:
      isWorking || isRoot
        ? 'in_progress'
        : ((['passed', 'pending', 'failed', 'closed'] as const)[index % 4] ?? 'pending'),
    branch: `mxd/${id(index + 1)}/task-${index}`,
    ...(isRoot ? { baseBranch: 'main' } : {}),
    parentId: parent,
    children: children.map((child) => id(child + 1)),
    worktreePath: null,
    costUsd: index * 0.01,
    budgetUsd: 5,
    editedBy: 'user',
    persistent: false,
    createdAt: '2026-11-16T06:00:00.000Z',
    updatedAt: now(),
    depth: Math.ceil(Math.log(index * 7 + 8) / Math.log(8)) - 1,
    activity: isWorking ? 'working' : 'off',
    doing: isWorking ? 'running the tests' : null,
    problem: null,
    treeCostUsd: index * 0.02,
    contextTokens: 84_000,
    contextWindow: 200_000,
    model: 'mock-large',
    pendingMessages: 0,
    lastSeq: index === 1 ? events : Math.min(events, 2000),
    lastAt: now(),
    needs: index === 1 ? ['review'] : [],
  }
}

function makeUpAttention(): Attention[] {
  const at = { projectId, taskId: id(2), taskTitle: 'Task 1: write the tests', since: now() }
  return [
    { id: 'question-1', kind: 'question', ...at, text: 'Which database?', options: ['SQLite', 'PostgreSQL'] },
    {
      id: 'approval-1',
      kind: 'approval',
      ...at,
      text: 'Wants to run a command',
      approval: {
        uri: 'matrix://tool/mcp/mxd/bash@1.0.0',
        sideEffect: 'shell',
        input: { command: 'rm -rf build' },
        inputDigest: 'sha256:0',
        reason: 'shell needs a person',
        expiresAt: new Date(Date.now() + 600_000).toISOString(),
      },
    },
  ]
}

function makeUpStatus(working: number): unknown {
  return {
    version: '0.0.0',
    pid: process.pid,
    startedAt: now(),
    dataDirectory: '/home/you/.mxd',
    sandbox: { isActive: true, reason: null },
    agents: { live: working, working },
    provider: { kind: 'mock', model: 'mock-large' },
  }
}

function makeUpCosts(by: string, tasks: readonly TaskView[]): unknown {
  const sums = {
    turns: 120,
    inputTokens: 400_000,
    outputTokens: 30_000,
    cacheReadTokens: 2_000_000,
    cacheWriteTokens: 90_000,
  }
  const day = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10)
  const models = ['mock-large', 'mock-small']
  if (by === 'task') return tasks.map((task, index) => ({ task: task.id, usd: (index % 7) * 0.3, ...sums }))
  if (by === 'model') return models.map((model, index) => ({ model, usd: 9 / (index + 1), ...sums }))
  const days = Array.from({ length: 30 }, (_, back) => ({
    day: day(back),
    usd: Math.abs(Math.sin(back * 1.7)) * 8,
    ...sums,
  }))
  return by === 'day'
    ? days
    : days.flatMap((row) => models.map((model, index) => ({ ...row, model, usd: row.usd / (index + 1.5) })))
}

function makeUpProcess(processId: string): unknown {
  const commands = ['pnpm dev --port 5173', 'node scripts/watch.mjs', 'tail -f log/test.log']
  const all = commands.map(
    (command, index): BackgroundProcess => ({
      id: `bg_${index + 1}`,
      taskId: id(2 + index),
      command,
      startedAt: new Date(Date.now() - index * 400_000 - 20_000).toISOString(),
      exitCode: index === 2 ? 137 : null,
      isRunning: index !== 2,
    }),
  )
  if (processId === '') return all
  const found = all.find((one) => one.id === processId)
  return found && { ...found, output: Array.from({ length: 400 }, (_, line) => `line ${line}: ready`).join('\n') }
}

function makeUpOverlaps(): Overlap[] {
  const task = (number: number) => ({
    taskId: id(number + 1),
    title: `Task ${number}: write the tests`,
    branch: `mxd/${number}`,
  })
  const pair = (one: number, other: number): [string, string] => [id(one + 1), id(other + 1)]
  return [
    { path: 'src/app/router.ts', tasks: [task(1), task(2), task(3)], conflicts: [pair(1, 2)] },
    { path: 'src/app/main.ts', tasks: [task(1), task(2)], conflicts: [] },
    { path: 'package.json', tasks: [task(1), task(4), task(5)], conflicts: [pair(4, 5), pair(1, 4)] },
    { path: 'docs/guide.md', tasks: [task(3), task(5)], conflicts: [] },
  ]
}

async function serveFile(dist: string | undefined, path: string, response: ServerResponse): Promise<void> {
  const kinds: Record<string, string> = {
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.html': 'text/html',
    '.svg': 'image/svg+xml',
  }
  const file = join(dist ?? '', extname(path) === '' ? 'index.html' : normalize(path))
  const bytes = dist ? await readFile(file).catch(() => undefined) : undefined
  response.writeHead(bytes ? 200 : 404, { 'content-type': kinds[extname(file)] ?? 'application/octet-stream' })
  response.end(bytes)
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text === '' ? undefined : JSON.parse(text)
}
