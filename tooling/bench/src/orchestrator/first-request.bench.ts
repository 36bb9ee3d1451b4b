import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openNodeOrchestrator } from '@matrix/orchestrator'
import type { Benchmark } from '../figure.ts'

/** What the largest first request may be, in tokens of four bytes. */
const most = 9000

/** How much the default agent is told before it can begin: system prompt, tools and first message, as a provider receives them. */
export const benchmark: Benchmark = {
  name: 'first request',
  async measure() {
    const body = await captureFirstRequest()
    if (process.env.MATRIX_FIRST_REQUEST) writeFileSync(process.env.MATRIX_FIRST_REQUEST, body)
    return [
      {
        name: 'first request of the default agent',
        unit: 'tokens',
        ours: Buffer.byteLength(body) / 4,
        floor: most,
        against: 'most',
        limit: 1,
      },
    ]
  },
}

async function captureFirstRequest(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-first-request-'))
  const model = await openModel()
  const dataDirectory = join(folder, 'data')
  mkdirSync(dataDirectory, { recursive: true })
  const key = { anthropicApiKey: 'k', anthropicBaseUrl: model.url }
  writeFileSync(join(dataDirectory, 'config.json'), JSON.stringify({ authGroups: { default: key } }), { mode: 0o600 })
  const orchestrator = await openNodeOrchestrator({ dataDirectory, unboxedAgreed: true })
  try {
    await orchestrator.resume()
    const path = makeRepository(join(folder, 'shop'))
    const project = await orchestrator.registerProject({
      params: {},
      query: {},
      body: { path, setup: { choice: 'none' } },
    })
    const failed = new Promise<never>((_, fail) => {
      orchestrator.subscribe((frame) => {
        if (frame.kind === 'attention') fail(new Error(frame.attention.text))
      })
    })
    const params = { projectId: project.id, taskId: project.rootTaskId ?? '' }
    await orchestrator.sendMessage({ params, query: {}, body: { text: 'Fix the failing test.' } })
    return await Promise.race([model.first, failed])
  } finally {
    await orchestrator.close()
    model.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Answers nothing: the first question is all that is wanted of it. */
async function openModel(): Promise<{ url: string; first: Promise<string>; close(): void }> {
  let take = (_body: string) => {}
  const first = new Promise<string>((done) => {
    take = done
  })
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.method === 'POST' && request.url?.startsWith('/v1/messages') && !request.url.includes('count'))
      return take(Buffer.concat(chunks).toString('utf8'))
    response.writeHead(404).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    first,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function makeRepository(path: string): string {
  mkdirSync(path)
  writeFileSync(join(path, 'readme.md'), 'A shop.\n')
  const git = (...args: string[]) => execFileSync('git', ['-C', path, ...args])
  git('init', '--quiet', '-b', 'main')
  git('add', '--all')
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '-m', 'first')
  return path
}
