import { findHiddenCharacters } from '@matrix/protocol'
import * as z from 'zod'
import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import type { RuleId } from '../document/rule.ts'
import { type FieldRule, schemaProblems } from '../document/schema-problems.ts'
import type { Path } from '../document/source-text.ts'
import { findCredentialArguments, isLiteralCredential } from './credential.ts'
import { isPlaceholderDigest } from './digest.ts'
import {
  type Assignment,
  findEnvironmentNames,
  findMalformedReference,
  readAssignments,
} from './environment-reference.ts'
import { isPackagePinned, type LaunchedPackage, parseLauncher } from './launcher.ts'
import { Assignments, Manifest, SideEffect } from './manifest.ts'
import { DIGEST_SHAPE } from './tool-uri.ts'

export type ManifestCheck = { manifest: Manifest | undefined; problems: Problem[] }

/** Whether an environment variable is set, where the one who checks knows. */
export type EnvironmentLookup = (name: string) => boolean

/** Everything about a v1 manifest that can be told from the document alone. */
export function checkManifest(value: unknown, isSet?: EnvironmentLookup): ManifestCheck {
  const parsed = Manifest.safeParse(value)
  if (parsed.success) return { manifest: parsed.data, problems: meaningProblems(parsed.data, isSet) }

  const problems = schemaProblems(parsed.error, value, fieldRule)
  const isReadable = problems.every(({ rule }) => rule === 'MX025')
  // The schema changes nothing in what it accepts, so with only unknown fields to complain of, the document is the manifest.
  const manifest = isReadable ? (value as Manifest) : undefined
  return { manifest, problems: [...problems, ...meaningProblems(Legible.parse(value), isSet)] }
}

const legibleText = z.string().optional().catch(undefined)
const legibleAssignments = Assignments.optional().catch(undefined)
const LegibleServer = z
  .object({
    alias: legibleText,
    transport: legibleText,
    command: legibleText,
    args: z.array(z.string()).optional().catch(undefined),
    env: legibleAssignments,
    headers: legibleAssignments,
    endpoint: legibleText,
    package_digest: legibleText,
    version: legibleText,
    tools: z
      .array(z.object({ name: legibleText, description: legibleText, side_effect_class: legibleText }).catch({}))
      .optional()
      .catch(undefined),
  })
  .catch({})
type LegibleServer = z.infer<typeof LegibleServer>

/** What can be made out of a document that is not well-formed: one wrong field must not hide a credential in the next. */
const Legible = z
  .object({
    description: legibleText,
    allowed_side_effects: z.array(z.string()).optional().catch(undefined),
    servers: z.array(LegibleServer).catch([]),
    native_tools: z.array(z.unknown()).optional().catch(undefined),
  })
  .catch({ servers: [] })
type Legible = z.infer<typeof Legible>

const rulesByField: Record<string, RuleId> = {
  alias: 'MX002',
  transport: 'MX003',
  command: 'MX003',
  endpoint: 'MX003',
  package_digest: 'MX004',
  agent: 'MX026',
}

const fieldRule: FieldRule = ({ code, path }, found) => {
  const field = path.at(-1)
  if (field === 'transport' && typeof found === 'string' && code === 'invalid_union')
    return {
      rule: /^(?:http\+)?sse$/i.test(found) ? 'MX017' : 'MX003',
      message: `must be "stdio" or "http", not ${JSON.stringify(found)}`,
    }
  if (field === 'tools' && code === 'too_small')
    return { rule: 'MX011', message: 'is empty, but must list every tool the server advertises' }
  const rule = typeof field === 'string' ? rulesByField[field] : undefined
  return rule && { rule }
}

function meaningProblems(manifest: Legible, isSet: EnvironmentLookup | undefined): Problem[] {
  const { servers, allowed_side_effects: allowed } = manifest
  const ofServers = servers.flatMap((server, index) => serverProblems(server, ['servers', index], allowed, isSet))
  return [...duplicateAliases(servers), ...ofServers, ...topProblems(manifest)]
}

function topProblems(manifest: Legible): Problem[] {
  const problems = hiddenProblems(manifest.description, ['description'])
  const chain = manifest.allowed_side_effects?.indexOf('chain') ?? -1
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

const reservedAliases: readonly string[] = ['builtin', 'native']

function duplicateAliases(servers: LegibleServer[]): Problem[] {
  const seen = new Set(reservedAliases)
  return servers.flatMap(({ alias }, index) => {
    if (alias === undefined || !seen.has(alias)) {
      if (alias !== undefined) seen.add(alias)
      return []
    }
    const reason = reservedAliases.includes(alias)
      ? 'is reserved for the tools of Matrix itself'
      : 'is used by two servers'
    return [{ rule: 'MX002', path: ['servers', index, 'alias'], message: `The alias "${alias}" ${reason}.` }]
  })
}

function serverProblems(
  server: LegibleServer,
  path: Path,
  allowed: readonly string[] | undefined,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  return [
    ...digestProblems(server, path),
    ...argumentProblems(server, path),
    ...launcherProblems(server, path),
    ...endpointProblems(server, path),
    ...assignmentProblems(server.env, [...path, 'env'], isSet),
    ...assignmentProblems(server.headers, [...path, 'headers'], isSet),
    ...toolProblems(server, path),
    ...deniedTools(server, path, allowed),
  ]
}

function digestProblems({ alias, package_digest: digest = '' }: LegibleServer, path: Path): Problem[] {
  if (!DIGEST_SHAPE.test(digest) || !isPlaceholderDigest(digest)) return []
  return [
    {
      rule: 'MX005',
      path: [...path, 'package_digest'],
      message: `The package digest of "${alias}" is a placeholder: no package has it.`,
    },
  ]
}

function argumentProblems({ alias, args = [] }: LegibleServer, path: Path): Problem[] {
  const hidden = args.flatMap((argument, index) => hiddenProblems(argument, [...path, 'args', index]))
  const credentials = findCredentialArguments(args).map(
    (index): Problem => ({
      rule: 'MX008',
      path: [...path, 'args', index],
      message: `Argument ${index} of "${alias}" holds a literal credential.`,
    }),
  )
  return [...hidden, ...credentials]
}

function launcherProblems(server: LegibleServer, path: Path): Problem[] {
  const { alias, command, args = [], version } = server
  if (command === undefined || version === undefined) return []
  const launcher = parseLauncher(command, args)
  if (launcher.kind === 'unclear')
    return [
      {
        rule: 'MX007',
        severity: 'warning',
        path: [...path, 'command'],
        message: `Cannot tell which package "${alias}" starts: ${launcher.why}.`,
        fix: 'Start the package itself, with its exact version (`npx -y name@1.2.3`), or a file of this machine.',
      },
    ]
  if (launcher.kind !== 'package') return []
  const at = (each: LaunchedPackage) => [...path, 'args', each.argument]
  const beside = launcher.others.filter((each) => !isPackagePinned(each))
  const problems = beside.map((each): Problem => {
    const message = `"${alias}" also fetches ${each.name}, whose argument ${carried(each)}.`
    return { rule: 'MX007', path: at(each), message }
  })
  if (!isPackagePinned(launcher, version)) {
    const message = `"${alias}" is version ${version}, but its launch argument for ${launcher.name} ${carried(launcher)}.`
    problems.push({ rule: 'MX007', path: at(launcher), message })
  }
  return [...problems, ...imageProblems(launcher, server, at(launcher))]
}

function carried({ version }: LaunchedPackage): string {
  return version ? `carries "${version}"` : 'carries no version'
}

/** The digest of an image is the digest of the package. */
function imageProblems(
  launched: LaunchedPackage,
  { alias, package_digest: digest }: LegibleServer,
  path: Path,
): Problem[] {
  const { ecosystem, version = '' } = launched
  if (ecosystem !== 'oci' || !DIGEST_SHAPE.test(version) || digest === undefined || version === digest) return []
  const message = `The image of "${alias}" is ${version}, but its package_digest is ${quoteText(digest)}.`
  return [{ rule: 'MX006', path, message, fix: 'Write the digest of the image as package_digest.' }]
}

function endpointProblems({ endpoint }: LegibleServer, path: Path): Problem[] {
  if (endpoint === undefined || !URL.canParse(endpoint)) return []
  const where = [...path, 'endpoint']
  if (isLiteralCredential('', endpoint))
    return [{ rule: 'MX008', path: where, message: 'The endpoint holds a literal credential.' }]
  const { protocol, hostname } = new URL(endpoint)
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  if (protocol !== 'http:' || isLocal) return []
  return [
    {
      rule: 'MX003',
      severity: 'warning',
      path: where,
      message: `The endpoint is reached without encryption at ${hostname}.`,
      fix: 'Use https.',
    },
  ]
}

function assignmentProblems(
  entries: Assignments | undefined,
  path: Path,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  const seen = new Set<string>()
  return readAssignments(entries).flatMap((assignment): Problem[] => {
    const where = [...path, assignment.step]
    const problems = assignmentProblem(assignment, where, isSet)
    if (seen.has(assignment.name))
      problems.push({
        rule: 'MX001',
        path: where,
        message: `"${assignment.name}" is set twice.`,
        fix: 'Keep one of the two.',
      })
    seen.add(assignment.name)
    return problems
  })
}

function assignmentProblem({ name, value }: Assignment, path: Path, isSet: EnvironmentLookup | undefined): Problem[] {
  if (isLiteralCredential(name, value))
    return [{ rule: 'MX008', path, message: `"${name}" is given a literal credential.` }]
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
    return [{ rule: 'MX001', path, message: 'An entry must be KEY=VALUE or $env:NAME.' }]

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

function toolProblems({ alias, tools = [] }: LegibleServer, path: Path): Problem[] {
  const seen = new Set<string>()
  return tools.flatMap(({ name, description }, index) => {
    const problems = hiddenProblems(description, [...path, 'tools', index, 'description'])
    if (name === undefined) return problems
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

function deniedTools(
  { alias, tools = [] }: LegibleServer,
  path: Path,
  allowed: readonly string[] | undefined,
): Problem[] {
  const isDenied = (needs: string | undefined) => SideEffect.safeParse(needs).success && !allowed?.includes(needs ?? '')
  const denied = allowed ? tools.filter((tool) => isDenied(tool.side_effect_class)) : []
  if (denied.length === 0) return []
  const names = denied.map(({ name, side_effect_class: needs }) => `${name} (${needs})`).join(', ')
  const message = `${denied.length} of the ${tools.length} tools of "${alias}" can never be called by this agent: ${names}.`
  return [{ rule: 'MX013', path: [...path, 'tools'], at: 'key', message }]
}

function hiddenProblems(text: string | undefined, path: Path): Problem[] {
  const found = text ? findHiddenCharacters(text) : []
  return found.length === 0
    ? []
    : [{ rule: 'MX024', path, message: `The text holds characters that nobody sees: ${found.join(', ')}.` }]
}
