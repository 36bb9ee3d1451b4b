import { isSameJson } from '../document/json-equality.ts'
import { findCredentialArguments, isLiteralCredential } from '../manifest/credential.ts'
import { findEnvironmentNames, readAssignments } from '../manifest/environment-reference.ts'
import { parseLauncher } from '../manifest/launcher.ts'
import type { HttpServer, Server, StdioServer } from '../manifest/manifest.ts'
import { type Change, matchUp } from './change.ts'
import { excerpt } from './text-diff.ts'

type Where = { server: string }

/** What changed in how a server is started or reached and in what it is pinned to; its tools are compared elsewhere. */
export function diffServer(before: Server, after: Server): Change[] {
  const where = { server: after.alias }
  if (before.transport === 'stdio' && after.transport === 'stdio')
    return [
      ...diffCommand(before, after, where),
      ...diffAssignments('environment', before.env, after.env, where),
      ...diffPins(before, after, where),
    ]
  if (before.transport === 'http' && after.transport === 'http')
    return [
      ...diffEndpoint(before.endpoint, after.endpoint, where),
      ...diffAssignments('headers', before.headers, after.headers, where),
      ...diffPins(before, after, where),
    ]
  const message = `The server is reached in another way: ${before.transport} → ${after.transport}.`
  return [
    { kind: 'transport', where, danger: 'high', message, before: before.transport, after: after.transport },
    ...diffPins(before, after, where),
  ]
}

/** A command line as it may be shown: what looks like a credential is left out. */
export function shownCommand(command: string, args: readonly string[] = []): string {
  const secret = new Set(findCredentialArguments(args))
  return excerpt([command, ...args.map((argument, index) => (secret.has(index) ? '…' : argument))].join(' '), 200)
}

export function diffEndpoint(before: string, after: string, where: Where): Change[] {
  if (before === after) return []
  const [old, now] = [before, after].map((each) => (isLiteralCredential('', each) ? '…' : excerpt(each, 200)))
  const message = `The server is reached at another address: ${old} → ${now}.`
  return [{ kind: 'endpoint', where, danger: 'high', message, before: old, after: now }]
}

function diffCommand(before: StdioServer, after: StdioServer, where: Where): Change[] {
  if (isSameJson(commandWithoutVersion(before), commandWithoutVersion(after))) return []
  const [old, now] = [shownCommand(before.command, before.args), shownCommand(after.command, after.args)]
  const message = `The launch command changed: ${old} → ${now}.`
  return [{ kind: 'launch', where, danger: 'high', message, before: old, after: now }]
}

/** The version in a launch argument only repeats the pin, which is compared by itself; every other letter counts. */
function commandWithoutVersion({ command, args = [], version }: StdioServer): string[] {
  const launcher = parseLauncher(command, args)
  if (launcher.kind !== 'package' || launcher.version !== version) return [command, ...args]
  const { argument, spec } = launcher
  const blank = spec.slice(0, spec.lastIndexOf(version)) + spec.slice(spec.lastIndexOf(version) + version.length)
  return [command, ...args.map((text, index) => (index === argument ? text.replace(spec, () => blank) : text))]
}

function diffAssignments(
  kind: 'environment' | 'headers',
  before: StdioServer['env'],
  after: StdioServer['env'],
  where: Where,
): Change[] {
  const { added, removed, kept } = matchUp(readAssignments(before), readAssignments(after), ({ name }) => name)
  const noun = kind === 'headers' ? 'header' : 'environment variable'
  const changed = kept.filter(([old, now]) => old.value !== now.value)
  return [
    ...added.map(({ name, value }): Change => {
      const source = sourcesOf(value)
      const message = `The ${noun} ${excerpt(name)} is new${source === '' ? '' : ` and hands over ${source}`}.`
      return { kind, where, danger: source === '' ? 'medium' : 'high', message, after: excerpt(name) }
    }),
    ...changed.map(([old, now]): Change => {
      const [was, is] = [sourcesOf(old.value), sourcesOf(now.value)]
      const isHandedOver = is !== '' && is !== was
      const message = `The ${noun} ${excerpt(now.name)} has another value${isHandedOver ? ` and hands over ${is}` : ''}.`
      return { kind, where, danger: isHandedOver ? 'high' : 'medium', message, before: was, after: is }
    }),
    ...removed.map(({ name }): Change => {
      const message = `The ${noun} ${excerpt(name)} is no longer set.`
      return { kind, where, danger: 'medium', message, before: excerpt(name) }
    }),
  ]
}

/** Only names of variables are ever shown; a literal value could be anything. */
function sourcesOf(value: string): string {
  return findEnvironmentNames(value)
    .map((name) => `$env:${name}`)
    .join(', ')
}

function diffPins(before: Server, after: Server, where: Where): Change[] {
  const changes: Change[] = []
  if (before.version !== after.version) {
    const message = `The version went from ${before.version} to ${after.version}.`
    changes.push({ kind: 'version', where, danger: 'medium', message, before: before.version, after: after.version })
  }
  return [...changes, ...diffDigest(before, after, where)]
}

function diffDigest(before: Server | HttpServer, after: Server | HttpServer, where: Where): Change[] {
  const [old, now] = [before.package_digest, after.package_digest]
  if (old === now) return []
  if (old === undefined)
    return [{ kind: 'package', where, danger: 'low', message: 'The digest is pinned now.', after: now }]
  if (now === undefined)
    return [{ kind: 'package', where, danger: 'high', message: 'The digest is no longer pinned.', before: old }]
  const isSilent = before.version === after.version
  const message = isSilent
    ? `Under the same version ${after.version} there is another package: its digest changed.`
    : 'The digest of the package changed with its version.'
  return [{ kind: 'package', where, danger: isSilent ? 'high' : 'medium', message, before: old, after: now }]
}
