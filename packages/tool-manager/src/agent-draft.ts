import { isAbsolute, resolve } from 'node:path'
import {
  checkAgentFormat,
  checkManifest,
  type DetectedDocument,
  type Format,
  importServers,
  isOwnServerTool,
  isToolVisible,
  type Lock,
  type Manifest,
  type Policy,
  parseLauncher,
  renameServers,
  rules,
  type Server,
  type ServerDraft,
} from '@matrix/manifest'
import { BUILTIN_ALIAS, builtinTools, MatrixError } from '@matrix/protocol'
import { requiredServers, type ServerCatalog } from './gpars-servers.ts'

/** An agent of any format, before it is known what its servers have. */
export type AgentDraft = {
  format: Format
  agent: string
  description: string | undefined
  /** Undefined where the format has no such thing: then the classes of the tools are it. */
  allowed: Manifest['allowed_side_effects'] | undefined
  servers: (Server | ServerDraft)[]
  policy: Policy | undefined
  notes: string[]
  /** The manifest itself, where there is nothing left to fill in: then it is locked as it stands. */
  complete?: Manifest
}

export type DraftOptions = {
  /** What to call the agent, instead of what the file says. */
  agent?: string | undefined
  /** Where a GPARS manifest finds its servers. */
  catalog?: ServerCatalog | undefined
  /** Matrix's own tools, as the shipped manifests pin them. */
  ownServer: Server
  /** Whether a list of servers, which names no native tools, becomes an agent with Matrix's own. */
  isAgent?: boolean | undefined
  /** The folder of the file, where its relative files start. */
  folder: string
  /** What the file is called, which tells some formats apart. */
  fileName?: string | undefined
}

/** What any file that Matrix reads says of an agent. */
export function readAgentDraft({ value, format }: DetectedDocument, options: DraftOptions): AgentDraft {
  if (format === 'matrix' || format === 'lock') return renamed(readManifest(format, value), options.agent)
  if (format === 'gpars') {
    const { agent: id, ...found } = requiredServers(value, options.catalog)
    return { ...found, agent: agentUri(options.agent) ?? id, format, allowed: undefined, policy: undefined }
  }
  const { agent, fileName } = options
  const imported = importServers(value, { ...(agent !== undefined && { agent }), ...(fileName && { fileName }) })
  const { manifest, aliases, problems } = imported
  const policy = format === 'agent-format' ? policyOf(value) : undefined
  const servers = manifest.servers.map((server) => placeFiles(server, options.folder))
  const needsOwn = policy ? showsNative(policy) : options.isAgent
  return {
    format: imported.format,
    agent: manifest.agent,
    description: manifest.description,
    allowed: undefined,
    servers: needsOwn ? [options.ownServer, ...servers] : servers,
    policy: policy && renameServers(policy, aliases),
    notes: problems.filter(({ severity }) => severity !== undefined).map(({ message }) => message),
  }
}

function renamed(draft: AgentDraft, name: string | undefined): AgentDraft {
  const agent = agentUri(name)
  if (agent === undefined) return draft
  return { ...draft, agent, ...(draft.complete && { complete: { ...draft.complete, agent } }) }
}

function agentUri(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `matrix://agent/${name}`
}

function policyOf(value: unknown): Policy {
  const { policy, problems } = checkAgentFormat(value)
  if (policy) return policy
  const first = problems.find(({ rule, severity = rules[rule].severity }) => severity === 'error')
  throw new MatrixError('DOCUMENT_INVALID', `The agent file has errors. ${first?.message ?? ''}`, {
    ...(first?.fix !== undefined && { hint: first.fix }),
  })
}

const native = Object.values(builtinTools).map((name) => name.replace(`mcp__${BUILTIN_ALIAS}__`, ''))

function showsNative({ tools }: Policy): boolean {
  return native.some((tool) => isOwnServerTool(tool) && isToolVisible(tools, { server: undefined, tool }))
}

/** Relative files start at the file that names them, wherever the agent is kept and works. */
export function placeFiles<Draft extends Server | ServerDraft>(server: Draft, folder: string): Draft {
  if (server.transport !== 'stdio') return server
  const { command, args = [] } = server
  const launcher = parseLauncher(command, args)
  const place = (file: string) => (isAbsolute(file) ? file : resolve(folder, file))
  const placed = launcher.kind === 'script' ? args.with(launcher.argument, place(launcher.file)) : server.args
  return { ...server, command: /[/\\]/.test(command) ? place(command) : command, ...(placed && { args: placed }) }
}

function readManifest(format: 'matrix' | 'lock', value: unknown): AgentDraft {
  const part = format === 'lock' ? (value as { manifest: unknown }).manifest : value
  const { manifest } = checkManifest(part)
  if (!manifest) {
    // A draft has gaps that only locking fills, so what is asked of it is only that it has servers.
    const { agent, description, servers, allowed_side_effects: allowed } = part as Manifest
    if (!Array.isArray(servers)) throw new MatrixError('DOCUMENT_INVALID', 'The manifest has no servers to lock.')
    const given = allowed?.length > 0 ? allowed : undefined
    return { format, agent, description, allowed: given, servers, policy: undefined, notes: [] }
  }
  const { agent, description, allowed_side_effects: allowed, servers } = manifest
  const policy = format === 'lock' ? (value as Lock).policy : undefined
  const draft = { format, agent, description, allowed, servers, policy, notes: [] }
  return format === 'matrix' ? { ...draft, complete: manifest } : draft
}
