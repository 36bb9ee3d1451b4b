import {
  buildWireNames,
  formatToolUri,
  type Manifest,
  parseToolUri,
  type Server,
  type Tool,
  type ToolUri,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'

/** One declared tool under all of its names. */
export type ResolvedTool = { uri: ToolUri; wireName: string; server: Server; tool: Tool }

/** The tools of one manifest, found by whatever name they are asked for. */
export type Registry = {
  /** In the order of the manifest. */
  tools: readonly ResolvedTool[]
  /** By pinned URI (version or digest), by wire name, or by a bare name that only one server has. */
  resolve(name: string): ResolvedTool
}

export function buildRegistry(manifest: Manifest): Registry {
  const names = buildWireNames(manifest)
  const byWireName = new Map<string, ResolvedTool>()
  for (const server of manifest.servers)
    for (const tool of server.tools) {
      const uri = { server: server.alias, tool: tool.name, pin: server.version }
      const wireName = names.toWireName(uri)
      if (wireName !== undefined) byWireName.set(wireName, { uri, wireName, server, tool })
    }
  const tools = [...byWireName.values()]

  return {
    tools,
    resolve(name) {
      if (name.includes(':')) return resolveUri(parseToolUri(name))
      const found = byWireName.get(name)
      if (found) return found
      const bare = tools.filter(({ tool }) => tool.name === name)
      if (bare.length > 1) throw ambiguous(name, bare)
      return bare[0] ?? unknown(name)
    },
  }

  function resolveUri(uri: ToolUri): ResolvedTool {
    const found = byWireName.get(names.toWireName(uri) ?? '')
    if (found) return found
    const server = manifest.servers.find(({ alias }) => alias === uri.server)
    const isOtherPin = server?.tools.some(({ name }) => name === uri.tool)
    if (!server || !isOtherPin) return unknown(formatToolUri(uri))
    throw new MatrixError('TOOL_UNKNOWN', `${formatToolUri(uri)} is not the version that is pinned.`, {
      hint: `The manifest pins "${server.alias}" to ${server.version}.`,
    })
  }
}

function unknown(name: string): never {
  throw new MatrixError('TOOL_UNKNOWN', `No server of the manifest has the tool ${JSON.stringify(name.slice(0, 200))}.`)
}

function ambiguous(name: string, found: readonly ResolvedTool[]): MatrixError {
  const uris = found.map(({ uri }) => formatToolUri(uri)).join(', ')
  return new MatrixError('TOOL_AMBIGUOUS', `"${name}" is a tool of several servers: ${uris}.`)
}
