import { findHiddenCharacters } from '@matrix/protocol'
import { findCredentialArguments, isLiteralCredential } from './credential.ts'
import { isPlaceholderDigest } from './digest.ts'
import {
  type Assignment,
  findEnvironmentNames,
  findMalformedReference,
  readAssignments,
} from './environment-reference.ts'
import type { Problem } from './finding.ts'
import { isPinnedTo, parseLauncher } from './launcher.ts'
import { Manifest, Server, type SideEffect, type StdioServer } from './manifest.ts'
import type { RuleId } from './rule.ts'
import { schemaProblems } from './schema-problems.ts'
import type { Path } from './source-text.ts'

export type ManifestCheck = { manifest: Manifest | undefined; problems: Problem[] }

/** Whether an environment variable is set, where the one who checks knows. */
export type EnvironmentLookup = (name: string) => boolean

/** Everything about a v1 manifest that can be told from the document alone. */
export function checkManifest(value: unknown, isSet?: EnvironmentLookup): ManifestCheck {
  const parsed = Manifest.safeParse(value)
  if (parsed.success)
    return { manifest: parsed.data, problems: meaningProblems(parsed.data.servers, parsed.data, isSet) }

  const problems = schemaProblems(parsed.error, value, ruleOfField)
  const isReadable = problems.every(({ rule }) => rule === 'MX025')
  // The schema changes nothing in what it accepts, so with only unknown fields to complain of, the document is the manifest.
  const manifest = isReadable ? (value as Manifest) : undefined
  return { manifest, problems: [...problems, ...meaningProblems(readableServers(value), manifest, isSet)] }
}

const rulesByField: Record<string, RuleId> = {
  alias: 'MX002',
  transport: 'MX003',
  command: 'MX003',
  endpoint: 'MX003',
  package_digest: 'MX004',
  agent: 'MX026',
}

function ruleOfField({ path }: { path: PropertyKey[] }, found: unknown): RuleId | undefined {
  const field = path.at(-1)
  if (field === 'transport' && /^(?:http\+)?sse$/i.test(String(found))) return 'MX017'
  return typeof field === 'string' ? rulesByField[field] : undefined
}

/** One malformed server must not keep the others from being looked at; those that cannot be read leave a gap, so indexes still fit. */
function readableServers(value: unknown): (Server | undefined)[] {
  const servers = typeof value === 'object' && value !== null && 'servers' in value ? value.servers : undefined
  if (!Array.isArray(servers)) return []
  return servers.map((server) => {
    const { data, error } = Server.safeParse(server)
    return data ?? (error?.issues.every(({ code }) => code === 'unrecognized_keys') ? (server as Server) : undefined)
  })
}

function meaningProblems(
  servers: (Server | undefined)[],
  manifest: Manifest | undefined,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  const problems = duplicateAliases(servers)
  servers.forEach((server, index) => {
    if (server) problems.push(...serverProblems(server, ['servers', index], manifest?.allowed_side_effects, isSet))
  })
  return manifest ? [...problems, ...topProblems(manifest)] : problems
}

function topProblems(manifest: Manifest): Problem[] {
  const problems = hiddenProblems(manifest.description, ['description'])
  const chain = manifest.allowed_side_effects.indexOf('chain')
  if (chain !== -1)
    problems.push({
      rule: 'MX023',
      path: ['allowed_side_effects', chain],
      message: 'The side effect "chain" can be allowed, but no call of that class runs in this version.',
    })
  if (manifest.native_tools?.length)
    problems.push({
      rule: 'MX023',
      path: ['native_tools'],
      at: 'key',
      message: `native_tools (${manifest.native_tools.length}) are reserved for chain tools; none of them can be called in this version.`,
    })
  return problems
}

function duplicateAliases(servers: (Server | undefined)[]): Problem[] {
  const seen = new Set<string>(['builtin', 'native'])
  return servers.flatMap((server, index) => {
    if (!server) return []
    const isReserved = server.alias === 'builtin' || server.alias === 'native'
    const isTaken = seen.has(server.alias)
    seen.add(server.alias)
    const reason = isReserved ? 'is reserved for the tools of Matrix itself' : 'is used by two servers'
    return isTaken
      ? [{ rule: 'MX002', path: ['servers', index, 'alias'], message: `The alias "${server.alias}" ${reason}.` }]
      : []
  })
}

function serverProblems(
  server: Server,
  path: Path,
  allowed: readonly SideEffect[] | undefined,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  return [
    ...digestProblems(server, path),
    ...(server.transport === 'stdio' ? launchProblems(server, path) : endpointProblems(server.endpoint, path)),
    ...assignmentProblems(server, path, isSet),
    ...toolProblems(server, path),
    ...(allowed ? deniedTools(server, path, allowed) : []),
  ]
}

function digestProblems({ alias, package_digest: digest }: Server, path: Path): Problem[] {
  if (!digest || !isPlaceholderDigest(digest)) return []
  return [
    {
      rule: 'MX005',
      path: [...path, 'package_digest'],
      message: `The package digest of "${alias}" is a placeholder: no package has it.`,
    },
  ]
}

function launchProblems({ alias, command, args = [], version }: StdioServer, path: Path): Problem[] {
  const problems: Problem[] = findCredentialArguments(args).map((index) => ({
    rule: 'MX008',
    path: [...path, 'args', index],
    message: `Argument ${index} of "${alias}" holds a literal credential.`,
  }))
  const launcher = parseLauncher(command, args)
  if (!isPinnedTo(launcher, version) && launcher.kind === 'package') {
    const carried = launcher.version ? `carries "${launcher.version}"` : 'carries no version'
    problems.push({
      rule: 'MX007',
      path: [...path, 'args', launcher.argument],
      message: `"${alias}" is version ${version}, but its launch argument for ${launcher.name} ${carried}.`,
    })
  }
  args.forEach((argument, index) => {
    problems.push(...hiddenProblems(argument, [...path, 'args', index]))
  })
  return problems
}

function endpointProblems(endpoint: string, path: Path): Problem[] {
  const where = [...path, 'endpoint']
  if (isLiteralCredential('', endpoint))
    return [{ rule: 'MX008', path: where, message: 'The endpoint holds a literal credential.' }]
  const { protocol, hostname } = new URL(endpoint)
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname)
  return protocol === 'http:' && !isLocal
    ? [
        {
          rule: 'MX003',
          severity: 'warning',
          path: where,
          message: `The endpoint is reached without encryption at ${hostname}.`,
          fix: 'Use https.',
        },
      ]
    : []
}

function assignmentProblems(server: Server, path: Path, isSet: EnvironmentLookup | undefined): Problem[] {
  const field = server.transport === 'stdio' ? 'env' : 'headers'
  const seen = new Set<string>()
  return readAssignments(server.transport === 'stdio' ? server.env : server.headers).flatMap((assignment) => {
    const where = [...path, field, assignment.step]
    const isTwice = seen.has(assignment.name)
    seen.add(assignment.name)
    if (isTwice)
      return [{ rule: 'MX001', path: where, message: `"${assignment.name}" is set twice.` }] satisfies Problem[]
    return assignmentProblem(assignment, where, isSet)
  })
}

function assignmentProblem({ name, value }: Assignment, path: Path, isSet: EnvironmentLookup | undefined): Problem[] {
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
    return [{ rule: 'MX001', path, message: 'An entry must be KEY=VALUE or $env:NAME.' }]
  if (isLiteralCredential(name, value))
    return [
      {
        rule: 'MX008',
        path,
        message: `"${name}" is given a literal credential.`,
        fix: `Write ${name}=$env:${name.replace(/\W/g, '_').toUpperCase()} and revoke the value that was in the file.`,
      },
    ]

  const malformed = findMalformedReference(value)
  if (malformed)
    return [
      {
        rule: 'MX009',
        path,
        message: `"${name}" holds ${malformed}, which is not a reference here and would be passed on as it stands.`,
      },
    ]
  const missing = isSet ? findEnvironmentNames(value).filter((each) => !isSet(each)) : []
  return missing.map((each) => ({
    rule: 'MX009',
    path,
    message: `The environment variable ${each} is not set.`,
    fix: `Set ${each} where Matrix runs.`,
  }))
}

function toolProblems({ alias, tools }: Server, path: Path): Problem[] {
  const seen = new Set<string>()
  return tools.flatMap(({ name, description }, index) => {
    const problems = hiddenProblems(description, [...path, 'tools', index, 'description'])
    if (seen.has(name))
      problems.push({
        rule: 'MX012',
        path: [...path, 'tools', index, 'name'],
        message: `"${alias}" lists the tool "${name}" twice.`,
      })
    seen.add(name)
    return problems
  })
}

function deniedTools({ alias, tools }: Server, path: Path, allowed: readonly SideEffect[]): Problem[] {
  const denied = tools.filter(({ side_effect_class: needs }) => !allowed.includes(needs))
  if (denied.length === 0) return []
  const names = denied.map(({ name, side_effect_class: needs }) => `${name} (${needs})`).join(', ')
  return [
    {
      rule: 'MX013',
      path: [...path, 'tools'],
      at: 'key',
      message: `${denied.length} of the ${tools.length} tools of "${alias}" can never be called by this agent: ${names}.`,
    },
  ]
}

function hiddenProblems(text: string | undefined, path: Path): Problem[] {
  const found = text ? findHiddenCharacters(text) : []
  return found.length === 0
    ? []
    : [{ rule: 'MX024', path, message: `The text holds characters that nobody sees: ${found.join(', ')}.` }]
}
