import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import type { Path } from '../document/source-text.ts'
import { credentialProblem, findControls, findCredentials, findHidden } from '../document/text-check.ts'
import { findCredentialArguments, isLiteralCredential } from '../manifest/credential.ts'
import { findMalformedReference } from '../manifest/environment-reference.ts'
import { findInjectedCode } from '../manifest/injected-code.ts'
import { isLoopback } from '../manifest/loopback.ts'
import { type EnvironmentLookup, injectionProblem, unsetVariable } from '../manifest/manifest-check.ts'
import { reservedAliases } from '../manifest/own-server.ts'
import { isAlias } from '../manifest/tool-uri.ts'
import type { AgentServer } from './agent-format.ts'

const fix = 'Give it "command" and "args", or "type": "http" and an https "url".'

const transports = new Map<string, 'stdio' | 'http'>([
  ['stdio', 'stdio'],
  ...['http', 'streamable-http', 'streamable_http', 'streamableHttp'].map((name) => [name, 'http'] as const),
])

/** How a server is reached: as it says, or else by whether it has a command or a URL. */
function agentTransport(server: AgentServer): 'stdio' | 'http' | undefined {
  const said = server.transport ?? server.type
  if (said !== undefined) return transports.get(said)
  if (server.command && server.url) return undefined
  return server.command ? 'stdio' : server.url ? 'http' : undefined
}

export function checkAgentServer(name: string, server: AgentServer, isSet?: EnvironmentLookup): Problem[] {
  const path = ['mcpServers', name]
  return [
    ...nameProblems(name, path),
    ...transportProblems(name, server, path),
    ...launchProblems(name, server, path),
    ...injectionProblems(name, server, path),
    ...assignmentProblems(server.env, [...path, 'env']),
    ...assignmentProblems(server.headers, [...path, 'headers']),
    ...findCredentials(server.oauth, [...path, 'oauth']),
    ...findCredentials(server.auth, [...path, 'auth']),
    ...unreadProblems(name, server, path),
    ...(isSet ? unsetProblems(server, path, isSet) : []),
  ]
}

function nameProblems(name: string, path: Path): Problem[] {
  const quoted = quoteText(name)
  if (reservedAliases.includes(name.toLowerCase()))
    return [
      {
        rule: 'MX002',
        path,
        at: 'key',
        message: `The server name ${quoted} is reserved for the tools of Matrix itself.`,
      },
    ]
  if (name.trim() === '' || /[/@*?]/.test(name))
    return [
      {
        rule: 'MX002',
        path,
        at: 'key',
        message: `The server name ${quoted} holds characters that references to its tools cannot have.`,
      },
    ]
  return isAlias(name)
    ? []
    : [
        {
          rule: 'MX002',
          severity: 'warning',
          path,
          at: 'key',
          message: `The server name ${quoted} cannot be an alias of a Matrix manifest as it stands.`,
        },
      ]
}

function transportProblems(name: string, server: AgentServer, path: Path): Problem[] {
  const field = server.transport === undefined ? 'type' : 'transport'
  const said = server.transport ?? server.type
  if (said !== undefined && /^(?:http\+)?sse$/i.test(said))
    return [{ rule: 'MX017', path: [...path, field], message: `"${name}" is reached by SSE, which is not supported.` }]
  if (
    server.transport !== undefined &&
    server.type !== undefined &&
    transports.get(server.transport) !== transports.get(server.type)
  )
    return [{ rule: 'MX003', path: [...path, 'type'], message: `"transport" and "type" of "${name}" disagree.`, fix }]
  if (said !== undefined && !transports.has(said))
    return [
      {
        rule: 'MX003',
        path: [...path, field],
        message: `"${name}" has the unknown transport ${quoteText(said)}.`,
        fix,
      },
    ]

  const transport = agentTransport(server)
  const needs = transport === 'http' ? 'url' : 'command'
  if (transport !== undefined && server[needs]) {
    if (transport === 'http') return urlProblems(server.url ?? '', path)
    return said === undefined ? [assumedStdio(name, path)] : []
  }
  const message = transport
    ? `"${name}" needs "${needs}" for the transport "${transport}".`
    : server.command
      ? `"${name}" has both "command" and "url", and no "type" to choose between them.`
      : `"${name}" has neither "command" nor "url".`
  return [{ rule: 'MX003', path, at: 'key', message, fix }]
}

function assumedStdio(name: string, path: Path): Problem {
  return {
    rule: 'MX003',
    severity: 'warning',
    path,
    at: 'key',
    message: `"${name}" has no "transport"; stdio is assumed.`,
    fix: 'Add "transport": "stdio".',
  }
}

function urlProblems(url: string, path: Path): Problem[] {
  const where = [...path, 'url']
  if (isLiteralCredential('', url))
    return [{ rule: 'MX008', path: where, message: 'The URL holds a literal credential.' }]
  // A reference may stand anywhere in it; what it resolves to is known only where the agent runs.
  const plain = url.replace(/\$\{[^}]*\}|\$env:\w+/g, 'x')
  const parsed = URL.canParse(plain) ? new URL(plain) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    return [{ rule: 'MX003', path: where, message: 'The URL of a server must be an http or https URL.', fix }]
  const references = referenceProblems('The URL', url, where)
  if (references.length > 0) return references
  return parsed.protocol === 'https:' || isLoopback(parsed.hostname)
    ? []
    : [
        {
          rule: 'MX003',
          severity: 'warning',
          path: where,
          message: `The server is reached without encryption at ${parsed.hostname}.`,
          fix: 'Use https.',
        },
      ]
}

function launchProblems(name: string, { command = '', args = [] }: AgentServer, path: Path): Problem[] {
  const credentials = findCredentialArguments(args).map(
    (index): Problem => ({
      rule: 'MX008',
      path: [...path, 'args', index],
      message: `Argument ${index} of "${name}" holds a literal credential.`,
    }),
  )
  const texts = [[command, 'command'] as const, ...args.map((text, index) => [text, 'args', index] as const)]
  const shown = [
    ...texts.flatMap(([text, ...steps]) => findHidden(text, [...path, ...steps])),
    ...texts.flatMap(([text, ...steps]) => referenceProblems(`A text of "${name}"`, text, [...path, ...steps])),
  ]
  return [...credentials, ...shown]
}

function injectionProblems(name: string, { command, args = [], env }: AgentServer, path: Path): Problem[] {
  if (command === undefined) return []
  const assignments = Object.entries(env ?? {}).map(([key, value]) => ({ name: key, value }))
  return findInjectedCode({ command, args, env: assignments }).map((each) =>
    injectionProblem(name, each, [...path, each.field, each.step]),
  )
}

function assignmentProblems(entries: Record<string, string> | null | undefined, path: Path): Problem[] {
  return Object.entries(entries ?? {}).flatMap(([name, value]): Problem[] => {
    const where = [...path, name]
    if (isLiteralCredential(name, value)) return [credentialProblem(name, where)]
    return [...findControls(value, where), ...referenceProblems(`"${name}"`, value, where)]
  })
}

const reference = /\$env:([A-Za-z_]\w*)|\$\{(?:env:)?([A-Za-z_]\w*)\}/g

/** References, in any of the spellings of this format, to what is not set where the agent would run. One with a value of its own needs no other. */
function unsetProblems(
  { url = '', args = [], env, headers }: AgentServer,
  path: Path,
  isSet: EnvironmentLookup,
): Problem[] {
  const texts: [string, ...(string | number)[]][] = [
    [url, 'url'],
    ...args.map((text, index): [string, string, number] => [text, 'args', index]),
    ...Object.entries(env ?? {}).map(([name, text]): [string, string, string] => [text, 'env', name]),
    ...Object.entries(headers ?? {}).map(([name, text]): [string, string, string] => [text, 'headers', name]),
  ]
  return texts.flatMap(([text, ...steps]) => {
    const names = [...text.matchAll(reference)].map(([, matrix, other]) => matrix ?? other ?? '')
    return names.filter((name) => !isSet(name)).map((name) => unsetVariable(name, [...path, ...steps]))
  })
}

/** The other programs' ${NAME} is at home in this format. */
function referenceProblems(what: string, text: string, path: Path): Problem[] {
  return findMalformedReference(text) === '$env:'
    ? [{ rule: 'MX009', path, message: `${what} holds "$env:" without a name.` }]
    : []
}

/** What other programs act on and Matrix does not. To drop a restriction without a word would be worse than to refuse it. */
function unreadProblems(name: string, { autoApprove = [], disabledTools = [] }: AgentServer, path: Path): Problem[] {
  const problems: Problem[] = []
  if (autoApprove.length > 0)
    problems.push({
      rule: 'MX029',
      path: [...path, 'autoApprove'],
      at: 'key',
      message: `autoApprove of "${name}" is not read: its tools will be asked about.`,
      fix: `List them in allowedTools as @${name}/<tool>.`,
    })
  if (disabledTools.length > 0)
    problems.push({
      rule: 'MX029',
      severity: 'warning',
      path: [...path, 'disabledTools'],
      at: 'key',
      message: `disabledTools of "${name}" is not read: ${disabledTools.join(', ')} would not be disabled.`,
      fix: `Remove it, and list in tools only what may be used, as @${name}/<tool>.`,
    })
  return problems
}
