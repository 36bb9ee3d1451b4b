import { isRecord, type JsonRecord, own, ownText } from './document/json-record.ts'
import { HookTrigger } from './policy/policy.ts'

/** The kinds of document that describe agents or MCP servers and that Matrix can read. */
export type Format =
  | 'matrix'
  | 'lock'
  | 'agent-format'
  | 'agent-skill'
  | 'gpars'
  | 'mcp-client'
  | 'vscode'
  | 'zed'
  | 'opencode'
  | 'codex'
  | 'registry'
  | 'mcpb'

/** What kind of document this is, by its shape: file names differ between machines, keys do not. */
export function detectFormat(value: unknown, fileName = ''): Format | undefined {
  if (!isRecord(value)) return undefined
  const format = shapes.find(([, hasShape]) => hasShape(value))?.[0]
  // A plugin's `.mcp.json` may hold the servers by their names and nothing around them.
  return format ?? (/mcp[\w.-]*\.json$/.test(fileName) && isServerMap(value) ? 'mcp-client' : undefined)
}

/** Servers by their names, without a key around them. */
export function isServerMap(value: JsonRecord): boolean {
  const entries = Object.values(value)
  return entries.length > 0 && entries.every((entry) => ['command', 'url'].some((key) => ownText(entry, key)))
}

/** `{ server, _meta }` as the API of a registry answers, instead of the bare `server.json`. */
export function isRegistryAnswer(value: unknown): boolean {
  return isRecord(own(value, 'server')) && isServerJson(own(value, 'server'))
}

// In this order: a document that is malformed in one place should still be recognised by another.
const shapes: readonly [Format, (value: JsonRecord) => boolean][] = [
  ['lock', (value) => has(value, 'lock_version')],
  ['matrix', (value) => has(value, 'schema_version') || has(value, 'allowed_side_effects')],
  ['mcpb', (value) => isRecord(own(value, 'server')) && (has(value, 'manifest_version') || has(value, 'dxt_version'))],
  ['agent-format', isAgentFormat],
  ['mcp-client', (value) => has(value, 'mcpServers')],
  ['codex', (value) => has(value, 'mcp_servers')],
  ['zed', (value) => has(value, 'context_servers')],
  ['opencode', isOpencode],
  ['vscode', (value) => isRecord(own(value, 'servers')) || isRecord(own(own(value, 'mcp'), 'servers'))],
  ['gpars', isGpars],
  ['registry', (value) => isServerJson(value) || isRegistryAnswer(value) || registryList(value).length > 0],
  // Last, because a registry's list of answers and a catalogue of servers also have this key.
  ['matrix', (value) => Array.isArray(own(value, 'servers')) && !has(value, 'catalog_version')],
]

const agentKeys = ['toolsSettings', 'toolAliases', 'resources', 'hooks', 'prompt', 'useLegacyMcpJson', 'includeMcpJson']

function isAgentFormat(value: JsonRecord): boolean {
  const listsTools = Array.isArray(own(value, 'tools')) || has(value, 'allowedTools')
  if (has(value, 'mcpServers') && (listsTools || agentKeys.some((key) => has(value, key) && key !== 'hooks')))
    return true
  if (typeof own(value, 'name') !== 'string') return isNamelessAgent(value, listsTools)
  return listsTools || agentKeys.some((key) => has(value, key))
}

/** Nameless, it is called as its file: then what it says of tools and of what to do must stand together. */
function isNamelessAgent(value: JsonRecord, listsTools: boolean): boolean {
  return (listsTools && agentKeys.some((key) => has(value, key) && key !== 'hooks')) || isAgentPart(value)
}

/** One field of an agent by itself, as its description shows them, and nothing that is no agent's. */
function isAgentPart(value: JsonRecord): boolean {
  if (Object.keys(value).some((key) => !partKeys.includes(key))) return false
  if (has(value, 'hooks') && !hasTriggers(value)) return false
  const isListed = [own(value, 'tools'), own(value, 'allowedTools')].some(isTexts)
  return isListed || has(value, 'toolsSettings') || isFileList(own(value, 'resources')) || hasTriggers(value)
}

const partKeys = ['$schema', 'version', 'description', 'tools', 'allowedTools', 'toolsSettings', 'resources', 'hooks']

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function isFileList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((each) => String(each).startsWith('file://'))
}

/** Settings of other programs have hooks too, at moments of other names. */
function hasTriggers(value: JsonRecord): boolean {
  const hooks = own(value, 'hooks')
  return isRecord(hooks) && HookTrigger.options.some((trigger) => has(hooks, trigger))
}

/** Its servers stand right below `mcp`, or since its second version below `mcp.servers`. */
function isOpencode(value: JsonRecord): boolean {
  if (ownText(value, '$schema')?.startsWith('https://opencode.ai/')) return true
  const mcp = own(value, 'mcp')
  const entries = isRecord(mcp) ? Object.values(own(mcp, 'servers') ?? mcp) : []
  return entries.length > 0 && entries.every((entry) => ['local', 'remote'].includes(ownText(entry, 'type') ?? ''))
}

function isGpars(value: JsonRecord): boolean {
  if (has(value, 'required_mcp_servers') || has(value, 'optional_mcp_servers')) return true
  return has(value, 'id') && has(value, 'capabilities')
}

function isServerJson(value: unknown): boolean {
  if (!isRecord(value)) return false
  if (ownText(value, '$schema')?.endsWith('/server.schema.json')) return true
  const lists = [own(value, 'packages'), own(value, 'remotes')].filter((list) => list !== undefined)
  return has(value, 'name') && lists.length > 0 && lists.every((list) => Array.isArray(list) && list.every(isRecord))
}

/** The answers in one page of a registry's list. */
function registryList(value: JsonRecord): unknown[] {
  const servers = own(value, 'servers')
  return Array.isArray(servers) ? servers.filter(isRegistryAnswer) : []
}

function has(value: JsonRecord, key: string): boolean {
  return Object.hasOwn(value, key)
}
