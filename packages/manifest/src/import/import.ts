import { MatrixError } from '@matrix/protocol'
import type { Problem } from '../document/finding.ts'
import { isRecord, type JsonRecord, own, ownText } from '../document/json-record.ts'
import { quoteText } from '../document/quoted-text.ts'
import { rules } from '../document/rule.ts'
import { detectFormat, type Format, isServerMap } from '../format.ts'
import { isAgentUri } from '../manifest/agent-uri.ts'
import { findEnvironmentNames } from '../manifest/environment-reference.ts'
import { openAliases } from './alias.ts'
import { readClientConfig } from './client-config.ts'
import { openEnvironmentNames } from './environment-names.ts'
import { type Found, type FoundServer, type ManifestDraft, piecesOf, type ServerDraft } from './manifest-draft.ts'
import { type Platform, readBundle } from './mcpb.ts'
import { readRegistry } from './registry-server.ts'
import type { Screen } from './secret-screen.ts'
import { draftServer } from './server-draft.ts'

export type ImportOptions = {
  /** What to call the agent of the draft, instead of what the file says. */
  agent?: string
  /** What the file is called, where its shape alone does not tell. */
  fileName?: string | undefined
  /** Which system to import a bundle for; its common settings when absent. */
  platform?: Platform
}

export type ServerImport = {
  format: Format
  manifest: ManifestDraft
  /** The alias of each server by the name it has in the file. */
  aliases: Record<string, string>
  /** The environment variables that the draft refers to, in its order. */
  environment: string[]
  /** What was changed, left out or is still to be done, at its place in the imported file. */
  problems: Problem[]
}

/** The servers of another program's file as a draft manifest, every secret replaced by an environment reference. */
export function importServers(value: unknown, options: ImportOptions = {}): ServerImport {
  const { format, servers, problems, agent, description } = readServers(value, options)
  const { drafts, aliases, problems: found } = draftServers(servers)
  const manifest: ManifestDraft = {
    schema_version: 1,
    agent: agentUri(options.agent ?? agent),
    ...(description !== undefined && { description }),
    allowed_side_effects: [],
    servers: drafts,
  }
  const environment = [...new Set(drafts.flatMap(textsOf).flatMap(findEnvironmentNames))]
  return { format, manifest, aliases, environment, problems: limited([...problems, ...found, ...outcome(drafts)]) }
}

/** The servers as the file has them, secrets and all: never to be printed. */
export function readServers(value: unknown, options: ImportOptions = {}): Found & { format: Format } {
  const format = detectFormat(value, options.fileName)
  if (!format || !isRecord(value))
    throw new MatrixError('FORMAT_UNKNOWN', 'The file is none of the formats that servers can be imported from.')
  return { format, ...readers[format](value, options) }
}

type Reader = (value: JsonRecord, options: ImportOptions) => Found

const readers: Record<Format, Reader> = {
  'mcp-client': readClient,
  'agent-format': readAgent,
  vscode: readVsCode,
  codex: (value) => readClientConfig(own(value, 'mcp_servers'), ['mcp_servers']),
  zed: (value) => readClientConfig(own(value, 'context_servers'), ['context_servers']),
  opencode: readOpencode,
  registry: readRegistry,
  mcpb: (value, { platform }) => readBundle(value, platform),
  matrix: refuse('The file is a Matrix manifest already.', 'Run matrix verify on it.'),
  lock: refuse('The file is a Matrix lock already.', 'Run matrix verify on it.'),
  'agent-skill': refuse('The file is a skill, which has no servers.', 'Run matrix verify on it.'),
  gpars: refuse(
    'A GPARS manifest says what an agent needs, not how a server is started or reached.',
    'Import the files of the servers themselves, or resolve them with matrix lock.',
  ),
}

function refuse(message: string, hint: string): Reader {
  return () => {
    throw new MatrixError('FORMAT_UNKNOWN', message, { hint })
  }
}

const policyKeys = ['tools', 'allowedTools', 'toolsSettings', 'toolAliases', 'resources', 'hooks', 'prompt', 'model']

function readAgent(value: JsonRecord): Found {
  const servers = Object.hasOwn(value, 'mcpServers') ? own(value, 'mcpServers') : {}
  const keys = policyKeys.filter((key) => Object.hasOwn(value, key))
  const policy: Problem = {
    rule: 'MX029',
    path: keys.slice(0, 1),
    at: 'key',
    message: `Left out as policy of the agent, while a manifest holds its servers: ${keys.join(', ')}.`,
    fix: 'Run `matrix lock` on the agent file itself to keep both.',
  }
  const found = withNotes(readClientConfig(servers, ['mcpServers']), [policy])
  return { ...found, agent: ownText(value, 'name'), description: ownText(value, 'description') }
}

function readClient(value: JsonRecord): Found {
  if (!Object.hasOwn(value, 'mcpServers') && isServerMap(value)) return readClientConfig(value, [])
  const servers = own(value, 'mcpServers')
  if (typeof servers === 'string' || Array.isArray(servers)) return { servers: [], problems: [elsewhere(value)] }
  return withNotes(readClientConfig(servers, ['mcpServers'], own(value, 'inputs')), nestedServers(value))
}

/** A plugin may name the file that holds its servers. */
function elsewhere(value: JsonRecord): Problem {
  const stated = own(value, 'mcpServers')
  const file = typeof stated === 'string' ? quoteText(stated) : 'other files'
  const message = `The servers of this plugin stand in ${file}.`
  return { rule: 'MX029', severity: 'warning', path: ['mcpServers'], message, fix: 'Pass that file instead.' }
}

function readOpencode(value: JsonRecord): Found {
  const mcp = own(value, 'mcp') ?? {}
  const isNested = isRecord(own(mcp, 'servers')) && !own(own(mcp, 'servers'), 'type')
  return isNested ? readClientConfig(own(mcp, 'servers'), ['mcp', 'servers']) : readClientConfig(mcp, ['mcp'])
}

function readVsCode(value: JsonRecord): Found {
  const isSettings = !isRecord(own(value, 'servers'))
  const config = isSettings ? own(value, 'mcp') : value
  return readClientConfig(own(config, 'servers'), isSettings ? ['mcp', 'servers'] : ['servers'], own(config, 'inputs'))
}

function withNotes(found: Found, notes: Problem[]): Found {
  return { ...found, problems: [...found.problems, ...notes] }
}

/** One client keeps the servers of each project in the same file, under its folder. */
function nestedServers(value: JsonRecord): Problem[] {
  const projects = own(value, 'projects')
  if (!isRecord(projects)) return []
  return Object.keys(projects)
    .filter((folder) => Object.keys(own(own(projects, folder), 'mcpServers') ?? {}).length > 0)
    .map((folder) => ({
      rule: 'MX029',
      path: ['projects', folder, 'mcpServers'],
      at: 'key',
      message: 'These servers belong to one project and were left out.',
      fix: 'Save them as a file of their own ({"mcpServers": …}) and import that.',
    }))
}

type Drafts = Pick<ServerImport, 'aliases' | 'problems'> & { drafts: ServerDraft[] }

function draftServers(servers: FoundServer[]): Drafts {
  const names = openEnvironmentNames(servers.flatMap(({ launch }) => piecesOf(launch)).map(({ template }) => template))
  const aliasOf = openAliases()
  const problems: Problem[] = []
  const drafts = servers.map((server) => {
    const screen: Screen = { alias: aliasOf(server.name), names, problems }
    return draftServer(server, screen)
  })
  const aliases = Object.fromEntries(servers.map(({ name }, index) => [name, drafts[index]?.alias ?? name]))
  return { drafts, aliases, problems }
}

function outcome(drafts: ServerDraft[]): Problem[] {
  if (drafts.length === 0)
    return [{ rule: 'MX029', severity: 'warning', path: [], message: 'There is no server in this file to import.' }]
  const message = 'The draft allows no side effect yet: every call would be denied.'
  return [{ rule: 'MX029', path: [], message, fix: 'Add what the agent may do to allowed_side_effects.' }]
}

const MAX_PROBLEMS = 1000
const ranks = { error: 0, warning: 1, note: 2 } as const

/** Nobody reads more than that, and finding the line of each takes its time; the worst are kept. */
function limited(problems: Problem[]): Problem[] {
  if (problems.length <= MAX_PROBLEMS) return problems
  const rank = ({ rule, severity = rules[rule].severity }: Problem) => ranks[severity]
  const kept = problems.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_PROBLEMS)
  const message = `There are ${problems.length - MAX_PROBLEMS} more of these than are listed.`
  return [...kept, { rule: 'MX029', severity: 'warning', path: [], message, fix: 'Split the file.' }]
}

function agentUri(name: string | undefined): string {
  const uri = `matrix://agent/${name}`
  return name !== undefined && isAgentUri(uri) ? uri : 'matrix://agent/imported'
}

function textsOf(draft: ServerDraft): string[] {
  return draft.transport === 'stdio'
    ? [draft.command, ...draft.args, ...draft.env]
    : [draft.endpoint, ...Object.values(draft.headers)]
}
