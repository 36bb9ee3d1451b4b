import type { Problem } from '../document/finding.ts'
import { isRecord, type JsonRecord, own, ownText, scalarText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { readAssignments } from '../manifest/environment-reference.ts'
import { gapProblems, piece } from './client-placeholder.ts'
import type { Found, FoundLaunch, FoundServer, NamedPiece } from './manifest-draft.ts'

/** The servers of `mcpServers` or `servers`, as Claude, Cursor, VS Code, Amazon Q, Kiro and mxd write them. */
export function readClientConfig(servers: unknown, path: Path, inputs?: unknown): Found {
  if (!isRecord(servers))
    return { servers: [], problems: [{ rule: 'MX001', path, message: 'Servers must be an object, by their names.' }] }
  const known = new Set(Array.isArray(inputs) ? inputs.map((input) => ownText(input, 'id')) : [])
  const found = Object.entries(servers).map(([name, entry]) => readServer(name, entry, [...path, name], known))
  return {
    servers: found.flatMap(({ server }) => (server ? [server] : [])),
    problems: found.flatMap(({ problems }) => problems),
  }
}

type Reading = { server?: FoundServer; problems: Problem[] }

function readServer(name: string, entry: unknown, path: Path, inputs: ReadonlySet<unknown>): Reading {
  if (!isRecord(entry)) return { problems: [{ rule: 'MX001', path, message: `Server "${name}" must be an object.` }] }
  if (own(entry, 'disabled') === true || own(entry, 'enabled') === false)
    return { problems: [{ rule: 'MX029', path, at: 'key', message: `"${name}" is disabled here and was left out.` }] }

  const problems: Problem[] = []
  const launch = readLaunch(name, entry, path, problems)
  if (!launch) return { problems }
  return {
    server: { name, path, launch },
    problems: [...problems, ...unplacedFields(name, entry, path), ...gapProblems(launch, inputs)],
  }
}

const transports: Record<string, 'stdio' | 'http' | 'sse'> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  streamablehttp: 'http',
  streamable: 'http',
  remote: 'http',
  sse: 'sse',
  httpsse: 'sse',
}
const addressKeys = ['url', 'httpUrl', 'serverUrl']

function readLaunch(name: string, entry: JsonRecord, path: Path, problems: Problem[]): FoundLaunch | undefined {
  const stated = own(entry, 'type') === undefined ? 'transport' : 'type'
  const type = own(entry, stated)
  const addressKey = addressKeys.find((key) => ownText(entry, key) !== undefined) ?? 'url'
  const guess = ownText(entry, 'command') === undefined && ownText(entry, addressKey) !== undefined ? 'http' : 'stdio'
  const transport = type === undefined ? guess : findTransport(type)
  if (transport === 'stdio') return readStdio(name, entry, path, problems)
  if (transport === 'http') return readHttp(name, entry, addressKey, path, problems)
  problems.push(transport === 'sse' ? sseOnly(name, [...path, stated]) : unknownTransport(name, [...path, stated]))
  return undefined
}

/** Every client has its own spelling of the two transports. */
export function findTransport(type: unknown): 'stdio' | 'http' | 'sse' | undefined {
  const key = typeof type === 'string' ? type.toLowerCase().replace(/[^a-z]/g, '') : ''
  return Object.hasOwn(transports, key) ? transports[key] : undefined
}

export function sseOnly(name: string, path: Path): Problem {
  const message = `"${name}" is reached by HTTP+SSE, which MCP has deprecated and Matrix does not speak; it was left out.`
  return { rule: 'MX017', path, message }
}

function unknownTransport(name: string, path: Path): Problem {
  return { rule: 'MX003', path, message: `"${name}" has a transport that Matrix does not know; it was left out.` }
}

function readStdio(name: string, entry: JsonRecord, path: Path, problems: Problem[]): FoundLaunch | undefined {
  const command = ownText(entry, 'command')
  const args = readList(own(entry, 'args'))
  const env = readPairs(own(entry, 'env'), [...path, 'env'])
  if (!command) problems.push({ rule: 'MX003', path, message: `"${name}" has neither a command nor an address.` })
  if (!args)
    problems.push({ rule: 'MX001', path: [...path, 'args'], message: `"args" of "${name}" must be a list of texts.` })
  if (!env) problems.push(notPairs(name, 'env', path))
  if (!command || !args || !env) return undefined
  return {
    transport: 'stdio',
    command: piece(command, [...path, 'command']),
    args: args.map((text, index) => piece(text, [...path, 'args', index])),
    env,
  }
}

function readHttp(
  name: string,
  entry: JsonRecord,
  key: string,
  path: Path,
  problems: Problem[],
): FoundLaunch | undefined {
  const url = ownText(entry, key)
  const headers = readPairs(own(entry, 'headers'), [...path, 'headers'])
  if (!url) problems.push({ rule: 'MX003', path, message: `"${name}" is remote but has no address.` })
  if (!headers) problems.push(notPairs(name, 'headers', path))
  if (!url || !headers) return undefined
  if (own(entry, 'type') === undefined && /\/sse\/?(?:[?#]|$)/.test(url))
    problems.push({
      rule: 'MX017',
      severity: 'warning',
      path: [...path, key],
      message: `The address of "${name}" ends in /sse, which is usually the deprecated transport.`,
    })
  return { transport: 'http', endpoint: piece(url, [...path, key]), headers }
}

function notPairs(name: string, field: string, path: Path): Problem {
  const message = `"${field}" of "${name}" must give each name one text; the server was left out.`
  return { rule: 'MX001', path: [...path, field], message }
}

function readList(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return []
  const texts = Array.isArray(value) ? value.map(scalarText) : [undefined]
  return texts.every((text) => text !== undefined) ? texts : undefined
}

function readPairs(value: unknown, path: Path): NamedPiece[] | undefined {
  if (value === undefined || value === null) return []
  const entries = Array.isArray(value) ? readList(value) : readRecord(value)
  const pairs = entries && readAssignments(entries)
  if (!pairs?.every(({ name }) => /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))) return undefined
  return pairs.map(({ name, value: text, step }) => ({ name, ...piece(text, [...path, step]) }))
}

function readRecord(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined
  // Null takes a variable away, and a child here gets none that is not named.
  const names = Object.keys(value).filter((name) => value[name] !== null)
  const texts = readList(names.map((name) => value[name]))
  return texts && Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']))
}

/** Why a field was left out; any other unknown one only gets the first half of the sentence. */
const unplaced: Record<string, string> = {
  cwd: 'a server starts where Matrix says; give absolute paths in its arguments',
  envFile: 'name the variables it sets in env, as $env:NAME',
  autoApprove: 'who may run what unasked is the policy of the user',
  alwaysAllow: 'who may run what unasked is the policy of the user',
  trust: 'who may run what unasked is the policy of the user',
  disabledTools: 'a manifest lists every tool, and allowed_side_effects decides',
  timeout: 'give each tool its timeout_ms once the tools are listed',
  timeout_ms: 'give each tool its timeout_ms once the tools are listed',
  headersHelper: 'it would run a command for a header; put the value into an environment variable',
  oauth: 'sign in elsewhere and pass the token as $env:NAME in a header',
  oauthScopes: 'sign in elsewhere and pass the token as $env:NAME in a header',
  auth: 'sign in elsewhere and pass the token as $env:NAME in a header',
}
const placed = new Set([
  'type',
  'transport',
  'command',
  'args',
  'env',
  'headers',
  'disabled',
  'enabled',
  ...addressKeys,
])

function unplacedFields(name: string, entry: JsonRecord, path: Path): Problem[] {
  return Object.keys(entry)
    .filter((field) => !placed.has(field))
    .map((field) => {
      const reason = Object.hasOwn(unplaced, field) ? `: ${unplaced[field]}` : ''
      const message = `"${field}" of "${name}" has no place in a manifest${reason}.`
      return { rule: 'MX029', path: [...path, field], at: 'key', message }
    })
}
