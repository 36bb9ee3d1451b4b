import { createHash } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { folderWith, manifestText } from './matrix-process.testing.ts'

/** A server in one file that lists these tools and answers each call with its arguments, or with an error for `fail`. */
export function serverScript(tools: object[]): string {
  return `
const tools = ${JSON.stringify(tools)}
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'local', version: '1' } } })
  else if (method === 'tools/list') send({ id, result: { tools } })
  else if (method === 'tools/call')
    send({ id, result: { content: [{ type: 'text', text: JSON.stringify(params.arguments) }], isError: params.name === 'fail' } })
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } })
})
`
}

const inputSchema = { type: 'object', properties: { path: { type: 'string' }, id: { type: 'number' } } }
export const readTool = { name: 'read_note', description: 'Read a note', inputSchema }
export const failTool = { name: 'fail', description: 'Read nothing', inputSchema: { type: 'object' } }

type LocalAgent = { cwd: string; worktree: string; env: Record<string, string> }

type Local = { advertised?: object[]; server?: object; top?: object }

/** A folder with a server, a manifest for it, and a data folder of its own. */
export function localAgent({ advertised = [readTool, failTool], server, top }: Local = {}): LocalAgent {
  const script = serverScript(advertised)
  const manifest = manifestText(
    {
      alias: 'notes',
      command: 'node',
      args: ['server.cjs'],
      version: '1.0.0',
      package_digest: `sha256:${createHash('sha256').update(script).digest('hex')}`,
      tools: [
        { name: 'read_note', side_effect_class: 'read' },
        { name: 'fail', side_effect_class: 'read' },
      ],
      ...server,
    },
    top,
  )
  const cwd = folderWith({ 'server.cjs': script, 'a.json': manifest })
  const worktree = folderWith()
  // Boxes run as somebody else where we are root.
  for (const folder of [cwd, worktree]) chmodSync(folder, 0o755)
  return { cwd, worktree, env: { MXD_DATA_DIR: folderWith() } }
}
