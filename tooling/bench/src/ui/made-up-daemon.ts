import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'
import type { Frame, TaskView } from '@matrix/protocol/http'
import { makeUpChanges } from './made-up-changes.ts'
import { makeUpCosts } from './made-up-costs.ts'
import { makeUpProcess } from './made-up-processes.ts'
import { makeUpEvent } from './made-up-session.ts'
import { makeUpTools } from './made-up-tools.ts'
import { makeUpAttention, makeUpOverlaps, makeUpProject, makeUpTask, now, projectId } from './made-up-tree.ts'

type Options = { port: number; tasks: number; working: number; events: number; dist?: string; framesPerSecond?: number }

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
  const project = makeUpProject(working)
  const attention = makeUpAttention()
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
