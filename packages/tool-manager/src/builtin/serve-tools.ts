import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BUILTIN_ALIAS, MatrixError } from '@matrix/protocol'
import { type CallToolResult, McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { BOXED } from '../sandbox/bubblewrap.ts'
import type { BuiltinTool, ToolCall, ToolHost } from './builtin-tool.ts'
import { readDenied } from './denied-path.ts'
import { editFileTool, listFilesTool, readFileTool, searchTool, writeFileTool } from './file-tools.ts'
import { findRipgrep } from './ripgrep.ts'
import { openShell } from './shell-session.ts'
import { backgroundTool, bashTool } from './shell-tools.ts'

/** The built-in tools in the order in which they are listed. */
export const builtinServerTools = [
  bashTool,
  backgroundTool,
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  searchTool,
] as readonly BuiltinTool[]

export type ServeToolsOptions = {
  /** The folder to work in. */
  root: string
  version: string
  /** Where ripgrep is, if somebody has looked already. */
  ripgrep?: string | undefined
}

/** Serves the built-in tools over this process's stdin and stdout until the input ends; then all they started is ended. */
export async function serveTools({ root, version, ripgrep }: ServeToolsOptions): Promise<void> {
  const spillFolder = realpathSync(mkdtempSync(join(tmpdir(), 'matrix-output-')))
  const workspace = { root: realpathSync(root), spillFolder, isBoxed: process.env[BOXED] === '1' }
  const host: ToolHost = { workspace, ripgrep: ripgrep ?? (await findRipgrep()), shell: openShell(workspace) }

  const handle = serveStdio(() => buildServer(host, version))
  await new Promise<void>((done) => {
    process.stdin.once('end', done).once('close', done)
    process.once('SIGTERM', done).once('SIGINT', done)
  })
  host.shell.close()
  await handle.close()
  rmSync(spillFolder, { recursive: true, force: true })
}

function buildServer(host: ToolHost, version: string): McpServer {
  const server = new McpServer({ name: BUILTIN_ALIAS, version }, { capabilities: { tools: {} } })
  for (const tool of builtinServerTools)
    server.registerTool(
      tool.name,
      { description: tool.description, inputSchema: tool.input, annotations: annotate(tool) },
      (input, context) => callTool(tool, host, input, context),
    )
  return server
}

async function callTool(
  tool: BuiltinTool,
  host: ToolHost,
  input: object,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  try {
    const call = { signal: mcpReq.signal, report: reporterOf(mcpReq), isDenied: await readDenied(mcpReq._meta) }
    return await tool.run(host, { ...input }, call)
  } catch (error) {
    return { content: [{ type: 'text', text: explain(error) }], isError: true }
  }
}

function reporterOf({ _meta, notify }: ServerContext['mcpReq']): ToolCall['report'] {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (message) => {
    progress += 1
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {})
  }
}

function explain(error: unknown): string {
  if (error instanceof MatrixError) return `${error.message}\n${error.hint}`
  return error instanceof Error ? error.message : String(error)
}

export function annotate({ side_effect_class }: BuiltinTool) {
  const isRead = side_effect_class === 'read'
  return {
    readOnlyHint: isRead,
    destructiveHint: !isRead,
    idempotentHint: isRead,
    openWorldHint: side_effect_class === 'shell',
  }
}
