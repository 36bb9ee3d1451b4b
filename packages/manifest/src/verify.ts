import { detectDocument } from './detect.ts'
import { type Finding, type Mode, type Problem, placeProblems } from './document/finding.ts'
import type { Format } from './format.ts'
import { checkManifest, type EnvironmentLookup } from './manifest/manifest-check.ts'

export type VerifyOptions = {
  mode?: Mode
  /** What the file is called, which tells its syntax where the text alone does not. */
  fileName?: string | undefined
  /** With it, references to variables that are not set are found too. */
  environment?: EnvironmentLookup
}

export type Report = {
  format: Format | undefined
  /** What the document is, in words, such as "Matrix manifest v1, 3 servers, 21 tools". */
  summary: string
  findings: Finding[]
  /** The document, where it could be read. */
  value: unknown
}

/** Everything that can be found in a document of any known format without starting a server. */
export async function verifyDocument(
  bytes: Uint8Array,
  { mode = 'default', fileName, environment }: VerifyOptions = {},
): Promise<Report> {
  const { source, value, format, syntax, findings } = await detectDocument(bytes, { fileName, mode })
  if (value === undefined) return { format: undefined, summary: syntax, value, findings }

  const problems = format ? await checkers[format](value, { environment, fileName }) : [unknownFormat(syntax)]
  return {
    format,
    summary: format ? summaries[format](value) : 'of no known format',
    value,
    findings: [...findings, ...placeProblems(problems, source, mode)],
  }
}

type Around = { environment: EnvironmentLookup | undefined; fileName: string | undefined }
type Checker = (value: unknown, around: Around) => Problem[] | Promise<Problem[]>

let clientCheck: Promise<typeof import('./import/client-check.ts')> | undefined

/** Files of other programs. A folder holds many, and an import is looked up again each time. */
const checkImported: Checker = async (value, { fileName }) => {
  clientCheck ??= import('./import/client-check.ts')
  return (await clientCheck).checkServers(value, { fileName })
}

// What runs is checked at once; the other formats bring code that most checks never need.
const checkers: Record<Format, Checker> = {
  matrix: (value, { environment }) => checkManifest(value, environment).problems,
  'agent-format': async (value, { environment }) =>
    (await import('./agent-format/agent-format-check.ts')).checkAgentFormat(value, environment).problems,
  // Its findings come with reading it.
  'agent-skill': () => [],
  gpars: async (value) => (await import('./gpars/gpars-check.ts')).checkGpars(value).problems,
  lock: async (value, { environment }) => (await import('./lock/lock-check.ts')).checkLock(value, environment).problems,
  'mcp-client': checkImported,
  vscode: checkImported,
  zed: checkImported,
  opencode: checkImported,
  codex: checkImported,
  registry: checkImported,
  mcpb: checkImported,
}

const summaries: Record<Format, (value: unknown) => string> = {
  matrix: (value) => `Matrix manifest v1, ${serverCounts(value)}`,
  'agent-format': () => 'Agent Format',
  'agent-skill': () => 'Agent Skill',
  gpars: () => 'GPARS capability manifest',
  lock: (value) => `Matrix lock, ${serverCounts((value as { manifest?: unknown }).manifest)}`,
  'mcp-client': () => 'MCP client settings',
  vscode: () => 'VS Code MCP settings',
  zed: () => 'Zed settings with MCP servers',
  opencode: () => 'opencode settings',
  codex: () => 'Codex settings with MCP servers',
  registry: () => 'MCP registry entry',
  mcpb: () => 'MCP bundle manifest',
}

function unknownFormat(syntax: string): Problem {
  return {
    rule: 'MX001',
    path: [],
    message: `This is ${syntax}, but not of any format that Matrix knows.`,
    fix: 'A Matrix manifest has "schema_version", "agent", "allowed_side_effects" and "servers".',
  }
}

function serverCounts(value: unknown): string {
  const servers = (value as { servers?: unknown } | undefined)?.servers
  if (!Array.isArray(servers)) return 'no servers'
  const tools = servers.reduce<number>(
    (sum, server) => sum + (Array.isArray(server?.tools) ? server.tools.length : 0),
    0,
  )
  return `${counted(servers.length, 'server')}, ${counted(tools, 'tool')}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
