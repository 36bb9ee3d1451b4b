import { realpathSync } from 'node:fs'
import { BUILTIN_ALIAS, MatrixError } from '@matrix/protocol'
import { type CallToolResult, McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { BOXED } from '../sandbox/boxed.ts'
import type { BuiltinTool, ToolCall, ToolHost } from './builtin-tool.ts'
import { CALL_META, type CallEndings, END_CALL, EndCall, openCallEndings } from './call-end.ts'
import { readDenied } from './denied-path.ts'
import { editFileTool, listFilesTool, readFileTool, searchTool, writeFileTool } from './file-tools.ts'
import { openKeptOutput } from './kept-output.ts'
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
  const kept = openKeptOutput()
  const workspace = { root: realpathSync(root), spillFolder: kept.folder, isBoxed: process.env[BOXED] === '1' }
  const shell = openShell(workspace, kept)
  const host: ToolHost = { workspace, ripgrep: ripgrep ?? (await findRipgrep()), shell }

  const handle = serveStdio(() => buildServer(host, version))
  await new Promise<void>((done) => {
    process.stdin.once('end', done).once('close', done)
    process.once('SIGTERM', done).once('SIGINT', done)
  })
  shell.close()
  await handle.close()
  kept.close()
}

function buildServer(host: ToolHost, version: string): McpServer {
  const server = new McpServer({ name: BUILTIN_ALIAS, version }, { capabilities: { tools: {} } })
  const endings = openCallEndings()
  server.server.setNotificationHandler(END_CALL, { params: EndCall }, ({ call }) => endings.end(call))
  for (const tool of builtinServerTools)
    server.registerTool(
      tool.name,
      { description: tool.description, inputSchema: tool.input, annotations: annotate(tool) },
      (input, { mcpReq }) => callTool(tool, { host, endings }, input, mcpReq),
    )
  return server
}

async function callTool(
  tool: BuiltinTool,
  { host, endings }: { host: ToolHost; endings: CallEndings },
  input: object,
  request: ServerContext['mcpReq'],
): Promise<CallToolResult> {
  const { signal, close } = endings.open(request._meta?.[CALL_META], request.signal)
  try {
    const call = { signal, report: reporterOf(request), isDenied: await readDenied(request._meta) }
    return await tool.run(host, { ...input }, call)
  } catch (error) {
    return { content: [{ type: 'text', text: explain(error) }], isError: true }
  } finally {
    close()
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
