import { BUILTIN_ALIAS, MatrixError } from '@matrix/protocol'
import { type LoopControl, type ToolExecResult, textResult } from '@matrix/provider-loop'
import {
  type CallToolResult,
  InMemoryTransport,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCResponse,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Agent } from '../agent.ts'
import type { ProjectContext } from '../project-context.ts'
import { accessTools } from './access-tools.ts'
import { conversationTools } from './conversation-tools.ts'
import { doneTool } from './done-tool.ts'
import { type OwnTool, servedName } from './own-tool.ts'
import { reviewTools } from './review-tools.ts'
import { setupTool } from './setup-tool.ts'
import { skillTool } from './skill-tool.ts'
import { treeTools } from './tree-tools.ts'

/** Everything that the server offers. */
export const ownTools: readonly OwnTool[] = [
  ...treeTools,
  ...conversationTools,
  ...reviewTools,
  ...accessTools,
  setupTool,
  skillTool,
  doneTool,
]

/** Which call of the model this is, said beside the arguments. */
const CALL_META = 'matrix/call-id'
/** What the loop is asked to do beside telling the model, said beside the result. */
const CONTROL_META = 'matrix/control'

/** The orchestrator's own tools as one agent reaches them. */
export type AgentServer = {
  call(name: string, input: Record<string, unknown>, callId: string): Promise<ToolExecResult>
  close(): Promise<void>
}

/** An MCP server in this process, for one agent alone. It is made when that agent calls for the first time: who only waits has none. */
export function openAgentServer(ctx: ProjectContext, agent: Agent): AgentServer {
  let line: Promise<Line> | undefined
  return {
    async call(name, input, callId) {
      line ??= openLine(buildServer(ctx, agent))
      const params = { name: servedName(name), arguments: input, _meta: { [CALL_META]: callId } }
      return readAnswer(await (await line).ask('tools/call', params))
    },
    close: async () => (await line)?.close(),
  }
}

export function buildServer(ctx: ProjectContext, agent: Agent): McpServer {
  const server = new McpServer({ name: BUILTIN_ALIAS, version: '1' }, { capabilities: { tools: {} } })
  for (const tool of ownTools)
    server.registerTool(
      servedName(tool.name),
      { description: tool.description, inputSchema: tool.input },
      (input, { mcpReq }) => callTool(ctx, agent, tool, input, mcpReq),
    )
  return server
}

async function callTool(
  ctx: ProjectContext,
  agent: Agent,
  tool: OwnTool,
  input: Record<string, unknown>,
  { _meta }: ServerContext['mcpReq'],
): Promise<CallToolResult> {
  try {
    const answer = await tool.run(ctx, agent, input, String(_meta?.[CALL_META]))
    const { content, isError, control } = typeof answer === 'string' ? textResult(answer) : answer
    const texts = content.filter((part) => part.type === 'text')
    return { content: texts, isError, ...(control && { _meta: { [CONTROL_META]: control } }) }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { content: [{ type: 'text', text: `${error.message}. ${error.hint}` }], isError: true }
  }
}

function readAnswer(response: JSONRPCResponse): ToolExecResult {
  if (isJSONRPCErrorResponse(response)) throw new Error(response.error.message)
  const { content, isError = false, _meta } = response.result as CallToolResult
  const control = _meta?.[CONTROL_META] as LoopControl | undefined
  return { content: content.filter((part) => part.type === 'text'), isError, ...(control && { control }) }
}

/** The agent's end of the transport. */
type Line = { ask(method: string, params?: Record<string, unknown>): Promise<JSONRPCResponse>; close(): Promise<void> }

/**
 * Connects to a server over a pair of transports in memory. The SDK's client would do the same with a timer for every request;
 * here nothing can be late, and time is for the world to tell.
 */
export async function openLine(server: McpServer): Promise<Line> {
  const [mine, theirs] = InMemoryTransport.createLinkedPair()
  const waiting = new Map<unknown, (response: JSONRPCResponse) => void>()
  let asked = 0
  mine.onmessage = (message) => {
    if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) return
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  }
  await server.connect(theirs)
  await mine.start()
  return {
    ask: (method, params) =>
      new Promise((resolve, reject) => {
        asked += 1
        waiting.set(asked, resolve)
        mine.send({ jsonrpc: '2.0', id: asked, method, ...(params && { params }) }).catch(reject)
      }),
    close: () => mine.close(),
  }
}
