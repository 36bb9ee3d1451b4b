import type { Problem } from '../document/finding.ts'
import { isRecord, type JsonRecord, own, ownText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { readClientCommand, readPairs } from './client-command.ts'
import { gapProblems, piece } from './client-placeholder.ts'
import type { Found, FoundLaunch, FoundServer, NamedPiece } from './manifest-draft.ts'

/** The servers by their names, as every client writes them under a key of its own. */
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
const addressKeys = ['httpUrl', 'serverUrl', 'url']

function readLaunch(name: string, entry: JsonRecord, path: Path, problems: Problem[]): FoundLaunch | undefined {
  const stated = ['type', 'transport', 'transportType'].find((key) => own(entry, key) !== undefined) ?? 'type'
  const type = own(entry, stated)
  const addressKey = addressKeys.find((key) => ownText(entry, key) !== undefined) ?? 'url'
  const guess = own(entry, 'command') === undefined && ownText(entry, addressKey) !== undefined ? 'http' : 'stdio'
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
  const { command, args, env, isUnwrapped } = readClientCommand(entry, path)
  if (!command?.text) problems.push(noWay(name, entry, path))
  if (!args)
    problems.push({ rule: 'MX001', path: [...path, 'args'], message: `"args" of "${name}" must be a list of texts.` })
  if (!env) problems.push(notPairs(name, 'env', path))
  if (!command?.text || !args || !env) return undefined
  if (isUnwrapped) problems.push(unwrapped(name, command.path))
  return {
    transport: 'stdio',
    command: piece(command.text, command.path),
    args: args.map(({ text, path: at }) => piece(text, at)),
    env,
  }
}

/** An editor that knows a server from an extension of its own names only its settings. */
function noWay(name: string, entry: JsonRecord, path: Path): Problem {
  if (own(entry, 'command') === undefined && (own(entry, 'settings') || own(entry, 'source') === 'extension'))
    return {
      rule: 'MX029',
      path,
      at: 'key',
      message: `How "${name}" is started is known to an extension of the editor only; it was left out.`,
      fix: 'Look up the command that the extension runs, and add the server with it.',
    }
  return { rule: 'MX003', path, message: `"${name}" has neither a command nor an address.` }
}

function unwrapped(name: string, path: Path): Problem {
  const message = `The command of "${name}" is one text; the draft starts its program without a shell.`
  return { rule: 'MX029', path, message, fix: 'Check that the program needs nothing that a shell would set.' }
}

function readHttp(
  name: string,
  entry: JsonRecord,
  key: string,
  path: Path,
  problems: Problem[],
): FoundLaunch | undefined {
  const url = ownText(entry, key)
  const headers = readHeaders(entry, path)
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

/** Codex names the variable that holds a header, and has a field of its own for a token. */
function readHeaders(entry: JsonRecord, path: Path): NamedPiece[] | undefined {
  const key = own(entry, 'headers') === undefined ? 'http_headers' : 'headers'
  const literal = readPairs(own(entry, key) ?? own(entry, 'headers'), [...path, key])
  const referred = own(entry, 'env_http_headers')
  const names = isRecord(referred) ? Object.entries(referred) : []
  const references = Object.fromEntries(names.map(([name, variable]) => [name, `$env:${variable}`]))
  const fromEnvironment = readPairs(references, [...path, 'env_http_headers'])
  return literal && fromEnvironment && [...literal, ...fromEnvironment, ...readBearer(entry, path)]
}

function readBearer(entry: JsonRecord, path: Path): NamedPiece[] {
  const variable = ownText(entry, 'bearer_token_env_var')
  const token = ownText(entry, 'bearer_token')
  if (variable !== undefined && /^[A-Za-z_]\w*$/.test(variable))
    return [{ name: 'Authorization', ...piece(`Bearer $env:${variable}`, [...path, 'bearer_token_env_var']) }]
  return token === undefined ? [] : [{ name: 'Authorization', ...piece(`Bearer ${token}`, [...path, 'bearer_token']) }]
}

/** Why a field was left out; any other unknown one only gets the first half of the sentence. */
const unplaced: Record<string, string> = {
  cwd: 'a server starts where Matrix says; give absolute paths in its arguments',
  envFile: 'name the variables it sets in env, as $env:NAME',
  enabled_tools: 'a manifest lists every tool, and allowed_side_effects decides',
  disabled_tools: 'a manifest lists every tool, and allowed_side_effects decides',
  includeTools: 'a manifest lists every tool, and allowed_side_effects decides',
  excludeTools: 'a manifest lists every tool, and allowed_side_effects decides',
  tool_timeout_sec: 'give each tool its timeout_ms once the tools are listed',
  settings: 'an extension of the editor reads it',
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
  'transportType',
  'command',
  'args',
  'env',
  'environment',
  'env_vars',
  'headers',
  'http_headers',
  'env_http_headers',
  'bearer_token',
  'bearer_token_env_var',
  'source',
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
