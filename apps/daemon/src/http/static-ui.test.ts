import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, startTestDaemon, type TestDaemon } from '../daemon.testing.ts'

const script = `export const words = '${'many words '.repeat(200)}'`
let daemon: TestDaemon
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'matrix-ui-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Matrix</title>')
  writeFileSync(join(folder, 'assets', 'main-a1b2c3.js'), script)
  writeFileSync(join(folder, 'notes.secret'), 'not for the web')
  symlinkSync('/etc/passwd', join(folder, 'passwd.txt'))
  daemon = await startTestDaemon({ uiFolder: folder })
})
afterAll(async () => {
  await daemon.close()
  rmSync(folder, { recursive: true })
})

test('the page is served for its own addresses, and looked for anew each time', async () => {
  const page = await get('/')
  const deep = await get('/projects/01K/tasks?x=1')

  expect(page).toMatchObject({ status: 200, text: '<!doctype html><title>Matrix</title>' })
  expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' })
  expect(page.headers['content-security-policy']).toContain("default-src 'self'")
  expect(deep.text).toBe(page.text)
})

test('files whose name holds their hash are kept by the browser for good', async () => {
  const { status, headers, text } = await get('/assets/main-a1b2c3.js')

  expect([status, text]).toEqual([200, script])
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'private, max-age=31536000, immutable',
  })
})

test('what has not changed is not sent again, and what is sent is compressed', async () => {
  const first = await get('/assets/main-a1b2c3.js')
  const again = await get('/assets/main-a1b2c3.js', { 'if-none-match': String(first.headers.etag) })
  const response = await fetchBytes('/assets/main-a1b2c3.js')

  expect([again.status, again.text]).toEqual([304, ''])
  expect(response.encoding).toBe('br')
  expect(response.bytes.length).toBeLessThan(script.length / 4)
  expect(brotliDecompressSync(response.bytes).toString()).toBe(script)
})

test('nothing outside of the folder, no link and no other kind of file can be reached', async () => {
  const paths = [
    '/../../../etc/passwd',
    '/..%2f..%2fetc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/passwd.txt',
    '/notes.secret',
    '/assets/gone.js',
    '/assets/../notes.secret',
  ]
  const answers = await Promise.all(paths.map((path) => get(path)))

  for (const { text } of answers) expect(text).not.toMatch(/root:|not for the web/)
  expect(answers[3]?.status).toBe(404)
  expect(answers[5]?.json()).toMatchObject({ code: 'ROUTE_UNKNOWN' })
})

test('an address below /api that does not exist is a failure, not the page', async () => {
  expect((await get('/api/nothing')).json()).toMatchObject({ code: 'ROUTE_UNKNOWN' })
})

test('where the web UI was not built, a page says how to build it', async () => {
  const bare = await startTestDaemon({ uiFolder: join(folder, 'missing') })
  const { status, text } = await ask(`${bare.url}/`)

  expect([status, text]).toEqual([200, expect.stringContaining('npm start')])
  await bare.close()
})

function get(path: string, headers: Record<string, string> = {}) {
  return ask(`${daemon.url}${path}`, { headers })
}

async function fetchBytes(path: string) {
  const { request } = await import('node:http')
  return new Promise<{ encoding: string | undefined; bytes: Buffer }>((resolve) => {
    request(`${daemon.url}${path}`, { headers: { 'accept-encoding': 'gzip, br' } }, async (incoming) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk)
      resolve({ encoding: incoming.headers['content-encoding'], bytes: Buffer.concat(chunks) })
    }).end()
  })
}
