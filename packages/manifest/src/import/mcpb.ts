import type { Problem } from '../document/finding.ts'
import { isRecord, type JsonRecord, own, ownText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import {
  type Found,
  type FoundLaunch,
  leftOut,
  type NamedPiece,
  type Piece,
  piecesOf,
  type ToolDraft,
} from './manifest-draft.ts'
import { configParts, isBundleDirectory, piece } from './mcpb-placeholder.ts'

/** The systems that a bundle can have settings of its own for. */
export type Platform = 'darwin' | 'linux' | 'win32'

/** The manifest.json of an MCP bundle (or of a desktop extension, as it was called before). */
export function readBundle(value: JsonRecord, platform: Platform | undefined): Found {
  const name = ownText(value, 'name') ?? 'server'
  const problems = [...generatedTools(name, value), ...otherSystems(value, platform)]
  const launch = readLaunch(value, platform, problems)
  if (!launch) return { servers: [], problems }
  problems.push(...unpacked(launch))
  const found = { name, path: ['name'], launch, version: ownText(value, 'version'), tools: readTools(value) }
  return { servers: [found], problems }
}

/** A setting of a platform replaces the common one; none of them is merged. */
function readLaunch(value: JsonRecord, platform: Platform | undefined, problems: Problem[]): FoundLaunch | undefined {
  const server = own(value, 'server')
  const common = ['server', 'mcp_config']
  const config = own(server, 'mcp_config') ?? defaultConfig(server)
  const override = platform && own(own(config, 'platform_overrides'), platform)
  const settingOf = (key: string): Setting =>
    own(override, key) === undefined
      ? { setting: own(config, key), path: [...common, key] }
      : { setting: own(override, key), path: [...common, 'platform_overrides', platform ?? '', key] }

  const { setting: command, path } = settingOf('command')
  const args = readArguments(settingOf('args'), value, problems)
  const env = readVariables(settingOf('env'), value, problems)
  if (typeof command !== 'string' || command === '')
    problems.push({ rule: 'MX003', path, message: 'The bundle does not say which command starts it.' })
  if (!args) problems.push({ rule: 'MX001', path: [...common, 'args'], message: '"args" must be a list of texts.' })
  if (!env) problems.push({ rule: 'MX001', path: [...common, 'env'], message: '"env" must give each name one text.' })
  if (typeof command !== 'string' || command === '' || !args || !env) return undefined
  return { transport: 'stdio', command: piece(inBundle(command, server), path, value), args, env }
}

const runtimes: Record<string, (entry: string) => JsonRecord> = {
  node: (entry) => ({ command: 'node', args: [entry] }),
  python: (entry) => ({ command: 'python', args: [entry] }),
  binary: (entry) => ({ command: entry }),
  uv: (entry) => ({ command: 'uv', args: ['run', '--directory', '${__dirname}', entry] }),
}

/** `mcp_config` may be missing where the program that installs the bundle decides how to start it. */
function defaultConfig(server: unknown): JsonRecord | undefined {
  const type = ownText(server, 'type') ?? ''
  const entry = ownText(server, 'entry_point')
  return entry !== undefined && Object.hasOwn(runtimes, type) ? runtimes[type]?.(`\${__dirname}/${entry}`) : undefined
}

/** A program of the bundle itself is named by its way inside the bundle. */
function inBundle(command: string, server: unknown): string {
  return ownText(server, 'type') === 'binary' && /^[\w.-]+\//.test(command) ? `\${__dirname}/${command}` : command
}

type Setting = { setting: unknown; path: Path }

function readArguments({ setting, path }: Setting, value: JsonRecord, problems: Problem[]): Piece[] | undefined {
  if (setting === undefined) return []
  if (!Array.isArray(setting) || !setting.every((text) => typeof text === 'string')) return undefined
  return setting.flatMap((text, index) => readValue(`Argument ${index}`, text, [...path, index], value, problems))
}

function readVariables({ setting, path }: Setting, value: JsonRecord, problems: Problem[]): NamedPiece[] | undefined {
  if (setting === undefined) return []
  if (!isRecord(setting)) return undefined
  const entries = Object.entries(setting)
  if (!entries.every(([name, text]) => /^[A-Za-z_]\w*$/.test(name) && typeof text === 'string')) return undefined
  return entries.flatMap(([name, text]) => {
    const [first] = readValue(`"${name}"`, String(text), [...path, name], value, problems)
    return first ? [{ name, ...first }] : []
  })
}

function readValue(label: string, text: string, path: Path, value: JsonRecord, problems: Problem[]): Piece[] {
  const parts = configParts(text, path, value)
  if (parts.length === 0) problems.push(leftOut(`${label} is optional and has no value here; it was left out.`, path))
  return parts
}

function readTools(value: JsonRecord): ToolDraft[] {
  const tools = own(value, 'tools')
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) => {
    const name = ownText(tool, 'name')
    const description = ownText(tool, 'description')
    return name === undefined ? [] : [{ name, ...(description !== undefined && { description }) }]
  })
}

function unpacked(launch: FoundLaunch): Problem[] {
  const isUsed = piecesOf(launch).some(({ template }) => template.some((part) => isBundleDirectory(part)))
  if (!isUsed) return []
  const message = 'The server runs from the unpacked bundle; the draft has an environment variable for its folder.'
  return [
    { rule: 'MX029', path: ['server'], at: 'key', message, fix: 'Unpack the bundle and set the variable to where.' },
  ]
}

function generatedTools(name: string, value: JsonRecord): Problem[] {
  if (own(value, 'tools_generated') !== true) return []
  const message = `"${name}" makes up more tools when it runs, so the list in its file is not all of them.`
  const fix = 'Run `matrix lock` on the draft, which asks the server itself; a list that changes later is drift.'
  return [{ rule: 'MX029', severity: 'warning', path: ['tools_generated'], message, fix }]
}

function otherSystems(value: JsonRecord, platform: Platform | undefined): Problem[] {
  const overrides = own(own(own(value, 'server'), 'mcp_config'), 'platform_overrides')
  const others = isRecord(overrides) ? Object.keys(overrides).filter((each) => each !== platform) : []
  if (others.length === 0) return []
  const message = `The bundle is started in another way on ${others.join(', ')}; the draft is for ${platform ?? 'the systems without one'}.`
  const fix = 'Import it once more for each other system that you use.'
  return [{ rule: 'MX029', path: ['server', 'mcp_config', 'platform_overrides'], at: 'key', message, fix }]
}
