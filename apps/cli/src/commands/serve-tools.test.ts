import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith, matrix, matrixBin } from '../matrix-process.testing.ts'

test('a client of SDK 1.x works with the built-in tools', async () => {
  const { client } = await connect(openFolder({ 'note.txt': 'remember the milk' }))
  const { tools } = await client.listTools()
  const read = await client.callTool({ name: 'read_file', arguments: { path: 'note.txt' } })
  const missing = await client.callTool({ name: 'read_file', arguments: { path: 'gone.txt' } })

  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['bash', 'background', 'read_file', 'write_file', 'edit_file', 'list_files', 'search']),
  )
  expect(JSON.stringify(read.content)).toContain('remember the milk')
  expect(missing.isError).toBe(true)
})

test('tools served to a foreign client are sandboxed, and the first line says so', async () => {
  const [root, elsewhere] = [openFolder(), openFolder({ 'key.txt': 'CANARY-7731' })]
  const { client, firstLine } = await connect(root, [], { CANARY_TOKEN: 'CANARY-7731' })
  const read = await bash(client, `cat ${elsewhere}/key.txt; env; cat /proc/*/environ; touch ${elsewhere}/made`)
  const wrote = await bash(client, 'echo hello > made.txt && node --version')

  expect(await firstLine()).toMatch(/^Sandboxed: these tools read and write .*have no network\.$/)
  expect(read).not.toContain('CANARY-7731')
  expect(existsSync(join(elsewhere, 'made'))).toBe(false)
  expect(wrote).toContain('v')
  expect(readFileSync(join(root, 'made.txt'), 'utf8')).toBe('hello\n')
})

test('commands of a foreign client reach the hosts that were named, and no other', async () => {
  const [named, other] = [await listen('NAMED'), await listen('OTHER')]
  const { client } = await connect(openFolder(), ['--host', named])

  expect(await bash(client, `curl -s --noproxy '' http://${named}/`)).toContain('NAMED')
  expect(await bash(client, `curl -s --noproxy '' http://${other}/`)).not.toContain('OTHER')
})

test('without a sandbox the tools need a flag, and the first line says that they have all rights', async () => {
  const elsewhere = openFolder({ 'key.txt': 'CANARY-7731' })
  const { client, firstLine } = await connect(openFolder(), ['--unsandboxed'])

  expect(await bash(client, `cat ${elsewhere}/key.txt`)).toContain('CANARY-7731')
  expect(await firstLine()).toMatch(/^NOT SANDBOXED: .* all your rights/)
})

test('the help of serve-tools says that its tools are sandboxed and how to have none', async () => {
  const { stdout } = await matrix(['serve-tools', '--help'])

  expect(stdout).toMatch(/in a\s+sandbox/)
  expect(stdout).toContain('--unsandboxed')
})

test('a client that closes the pipe ends the sandbox', async () => {
  const { stdout, code } = await matrix(['serve-tools', '--stdio'], { cwd: openFolder(), input: '' })

  expect(stdout).toBe('')
  expect(code).toBe(0)
})

async function connect(cwd: string, flags: string[] = [], env: Record<string, string> = {}) {
  const client = new Client({ name: 'foreign', version: '1.0.0' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [matrixBin, 'serve-tools', '--stdio', ...flags],
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (text) => (said += text))
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    client,
    firstLine: async () =>
      expect
        .poll(() => said)
        .toContain('\n')
        .then(() => said.split('\n')[0]),
  }
}

async function bash(client: Client, command: string): Promise<string> {
  return JSON.stringify((await client.callTool({ name: 'bash', arguments: { command } })).content)
}

/** As root, sandboxes run as another user. */
function openFolder(files: Record<string, string> = {}): string {
  const folder = folderWith(files)
  chmodSync(folder, 0o777)
  return folder
}

async function listen(answer: string): Promise<string> {
  const server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
