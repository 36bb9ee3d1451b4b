import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { HttpServer, Manifest } from '@matrix/manifest'
import { expect, onTestFinished, test } from 'vitest'
import { publicServer, publicStore } from './npm-server.testing.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import { bootHarness, type Harness, manifestOf, temporaryFolder, textOf } from './scripted-server.testing.ts'

const minutes = 60_000
const all: Manifest['allowed_side_effects'] = ['read', 'write', 'network', 'shell']

test('the reference servers run from verified bytes, boxed, and are exactly what was recorded', {
  timeout: 10 * minutes,
}, async () => {
  const worktree = workFolder()
  const { tools } = await bootPublic(worktree, [
    without(publicServer('filesystem', { args: [...args('filesystem'), '/workspace'] })),
    without(publicServer('everything')),
    without(publicServer('memory')),
    without(publicServer('sequential-thinking')),
  ])
  const reports = await tools.connectAll()

  expect(reports.map(({ alias, status }) => [alias, status])).toEqual([
    ['filesystem', 'verified'],
    ['everything', 'verified'],
    ['memory', 'verified'],
    ['sequential-thinking', 'verified'],
  ])
  for (const report of reports)
    expect(report).toHaveProperty('tools', publicServer(report.alias as 'memory').definitions)
})

test('/workspace in a manifest is the folder that the agent works in', { timeout: 2 * minutes }, async () => {
  const worktree = workFolder()
  writeFileSync(join(worktree, 'note.txt'), 'remember the milk')
  const { call } = await bootPublic(worktree, [
    without(publicServer('filesystem', { args: [...args('filesystem'), '/workspace'] })),
  ])

  expect(textOf(await call('read_text_file', { path: join(worktree, 'note.txt') }))).toContain('remember the milk')
  expect(await call('read_text_file', { path: '/etc/passwd' })).toMatchObject({ isError: true })
})

test('images and structured content of a published server survive', { timeout: 2 * minutes }, async () => {
  const { call } = await bootPublic(workFolder(), [without(publicServer('everything'))])
  const image = await call('get-tiny-image')
  const structured = await call('get-structured-content', { location: 'New York' })

  expect(image.content).toContainEqual(expect.objectContaining({ type: 'image', mediaType: 'image/png' }))
  expect(structured.structured).toMatchObject({ temperature: expect.any(Number) })
})

test('the same server over streamable HTTP is verified and called in the same way', {
  timeout: 2 * minutes,
}, async () => {
  const { definitions, alias, version, tools: declared } = publicServer('everything')
  const stored = await publicStore(await openSandbox({ mode: 'required' })).getPackage(wanted('everything'))
  const port = await freePort()
  const program = join(stored.folder, Object.values(stored.programs)[0] ?? '')
  const child = spawn(process.execPath, [program, 'streamableHttp'], { env: { PORT: String(port) }, stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise((done) => child.stderr.once('data', done))
  const server: HttpServer = {
    alias,
    version,
    tools: declared,
    transport: 'http',
    endpoint: `http://127.0.0.1:${port}/mcp`,
  }
  const { tools, call } = await bootPublic(workFolder(), [server])

  expect(await tools.connectAll()).toMatchObject([{ status: 'verified', tools: definitions }])
  expect(textOf(await call('echo', { message: 'over HTTP' }))).toContain('over HTTP')
})

test('a changed pin is found before a byte of the package runs', { timeout: 2 * minutes }, async () => {
  const wrong = `sha256:${'ab12'.repeat(16)}`
  const { tools } = await bootPublic(workFolder(), [without(publicServer('memory', { package_digest: wrong }))])
  const [report] = await tools.connectAll()

  expect(report).toMatchObject({ status: 'refused', error: { code: 'PACKAGE_MISMATCH' } })
})

function args(name: 'filesystem'): string[] {
  return publicServer(name).args ?? []
}

function wanted(name: 'everything') {
  const { version, package_digest: digest } = publicServer(name)
  return { name: `@modelcontextprotocol/server-${name}`, version, digest }
}

function without({ definitions: _recorded, ...server }: ReturnType<typeof publicServer>) {
  return server
}

/** Open to whomever the boxes run as. */
function workFolder(): string {
  const folder = temporaryFolder()
  chmodSync(folder, 0o777)
  return folder
}

async function bootPublic(worktree: string, servers: Manifest['servers']): Promise<Harness> {
  const sandbox = await openSandbox({ mode: 'auto', unboxedAgreed: true })
  const manifest = manifestOf(servers, { allowed_side_effects: all })
  return bootHarness({
    manifest,
    worktree,
    poolOptions: { sandbox, store: publicStore(sandbox), connectTimeoutMs: minutes },
  })
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => done(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
