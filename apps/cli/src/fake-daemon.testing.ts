import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MatrixError, nothingSpent } from '@matrix/protocol'
import {
  type DaemonFile,
  daemonFileName,
  Frame,
  feedPath,
  type Operation,
  type ProjectView,
  type Route,
  type RouteOutput,
  type RouteRequest,
  type Routes,
  routes,
  type TaskView,
} from '@matrix/protocol/http'
import { onTestFinished } from 'vitest'

type Answers = {
  [Op in Operation]?: RouteOutput<Routes[Op]> | ((request: RouteRequest<Routes[Op]>) => RouteOutput<Routes[Op]>)
}

export type FakeDaemon = {
  /** The environment in which a command finds this daemon. */
  env: { MXD_DATA_DIR: string }
  /** What was asked, each held against the contract. */
  asked: { operation: Operation; body: unknown; params: unknown; query: unknown }[]
  /** How many listen to its frames. */
  listeners(): number
  leave(): void
  comeBack(): void
}

/** A daemon that answers what the test says. Whatever the command or the test gets wrong about the contract is refused. */
export async function fakeDaemon(answers: Answers, frames: readonly Frame[] = []): Promise<FakeDaemon> {
  const dataDirectory = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-daemon-')))
  const asked: FakeDaemon['asked'] = []
  const listeners = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://daemon')
    if (url.pathname === feedPath) {
      listeners.add(response)
      response.on('close', () => listeners.delete(response))
      return sendFrames(response, frames)
    }
    answer(request, url, answers, asked).then(
      (value) => response.end(JSON.stringify(value)),
      (error) => {
        const known = error instanceof MatrixError ? error : new MatrixError('INTERNAL', String(error))
        response.writeHead(known.status).end(JSON.stringify(known))
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(dataDirectory, { recursive: true, force: true })
  })
  const { port } = server.address() as AddressInfo
  const tokenFile = join(dataDirectory, 'token')
  writeFileSync(tokenFile, 'secret')
  const file: DaemonFile = {
    pid: process.pid,
    startedAt: '2026-01-01T00:00:00.000Z',
    version: '0.0.0',
    url: `http://127.0.0.1:${port}`,
    port,
    socket: null,
    tokenFile,
    args: [],
  }
  writeFileSync(join(dataDirectory, daemonFileName), JSON.stringify(file))
  return {
    env: { MXD_DATA_DIR: dataDirectory },
    asked,
    listeners: () => listeners.size,
    leave() {
      server.close()
      server.closeAllConnections()
    },
    comeBack: () => void server.listen(port, '127.0.0.1'),
  }
}

async function answer(request: IncomingMessage, url: URL, answers: Answers, asked: FakeDaemon['asked']) {
  const { operation, route, params } = matchRoute(request.method ?? '', url.pathname)
  const text = await readText(request)
  const parsed = {
    params: route.params.parse(params),
    query: route.query.parse(Object.fromEntries(url.searchParams)),
    body: route.body.parse(text === '' ? undefined : JSON.parse(text)),
  }
  asked.push({ operation, ...parsed })
  if (!(operation in answers)) throw new MatrixError('ROUTE_UNKNOWN', `The test has no answer for ${operation}`)
  const given: unknown = answers[operation]
  return route.response.parse(typeof given === 'function' ? given(parsed) : given)
}

function matchRoute(method: string, path: string) {
  for (const [operation, route] of Object.entries(routes) as [Operation, Route][]) {
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '')
    const match = new RegExp(`^${route.path.replace(/:\w+/g, '([^/]+)')}$`).exec(path)
    if (!match || route.method !== method) continue
    const params = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')]))
    return { operation, route, params }
  }
  throw new MatrixError('ROUTE_UNKNOWN', `${method} ${path}`)
}

function sendFrames(response: ServerResponse, frames: readonly Frame[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for (const [index, frame] of frames.entries())
    response.write(`id: e.${index + 1}\ndata: ${JSON.stringify(Frame.parse(frame))}\n\n`)
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

export const rootId = '01K00000000000000000000000'
const at = '2026-01-01T00:00:00.000Z'

export function projectView(fields: Partial<ProjectView> = {}): ProjectView {
  return {
    id: '01KP0000000000000000000000',
    name: 'demo',
    path: '/demo',
    rootTaskId: rootId,
    baseBranch: 'main',
    problem: null,
    agents: { live: 2, working: 1 },
    costUsd: 1.5,
    isDemo: false,
    registeredAt: at,
    ...fields,
  }
}

export function taskView(id: string, fields: Partial<TaskView> = {}): TaskView {
  return {
    id,
    title: 'Task',
    description: '',
    status: 'in_progress',
    branch: null,
    parentId: null,
    children: [],
    worktreePath: null,
    costUsd: 0,
    editedBy: 'user',
    persistent: false,
    createdAt: at,
    updatedAt: at,
    projectId: projectView().id,
    depth: 0,
    activity: 'off',
    doing: null,
    problem: null,
    treeCostUsd: 0,
    treeSpent: { ...nothingSpent, usd: fields.treeCostUsd ?? 0 },
    contextTokens: null,
    contextWindow: null,
    model: null,
    pendingMessages: 0,
    lastSeq: 0,
    lastAt: null,
    needs: [],
    ...fields,
  }
}
