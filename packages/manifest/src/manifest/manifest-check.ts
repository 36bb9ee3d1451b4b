import { hasHiddenCharacters } from '@matrix/protocol'
import * as z from 'zod'
import type { Problem } from '../document/finding.ts'
import { quoteText, shownText } from '../document/quoted-text.ts'
import type { RuleId } from '../document/rule.ts'
import { type FieldRule, schemaProblems } from '../document/schema-problems.ts'
import type { Path } from '../document/source-text.ts'
import { addCredentials, findControls, findHidden } from '../document/text-check.ts'
import { findCredentialArguments, isLiteralCredential } from './credential.ts'
import { isPlaceholderDigest } from './digest.ts'
import {
  type Assignment,
  findEnvironmentNames,
  findMalformedReference,
  readAssignments,
} from './environment-reference.ts'
import { findInjectedCode, type Injection } from './injected-code.ts'
import { isPackagePinned, type LaunchedPackage, parseLauncher } from './launcher.ts'
import { isLoopback } from './loopback.ts'
import { type Assignments, Manifest, SideEffect } from './manifest.ts'
import { isOwnServer, isOwnServerTool, reservedAliases } from './own-server.ts'
import { DIGEST_SHAPE } from './tool-uri.ts'

export type ManifestCheck = { manifest: Manifest | undefined; problems: Problem[] }

/** Whether an environment variable is set, where the one who checks knows. */
export type EnvironmentLookup = (name: string) => boolean

/** Everything about a v1 manifest that can be told from the document alone. */
export function checkManifest(value: unknown, isSet?: EnvironmentLookup): ManifestCheck {
  const parsed = Manifest.safeParse(value)
  if (parsed.success) return { manifest: parsed.data, problems: allMeaningProblems(value, parsed.data, isSet) }

  const problems = schemaProblems(parsed.error, value, fieldRule)
  const isReadable = problems.every(({ rule }) => rule === 'MX025')
  // The schema changes nothing in what it accepts, so with only unknown fields to complain of, the document is the manifest.
  const manifest = isReadable ? (value as Manifest) : undefined
  return { manifest, problems: [...problems, ...allMeaningProblems(value, Legible.parse(value), isSet)] }
}

function allMeaningProblems(value: unknown, manifest: Legible, isSet: EnvironmentLookup | undefined): Problem[] {
  return addCredentials(meaningProblems(manifest, isSet), value)
}

/** Stands for what is no text in a list of texts: it must not hide the credential beside it. */
const UNREAD = '\0unread'
const legibleText = z.string().optional().catch(undefined)
const legibleTexts = z.array(z.string().catch(UNREAD))
const legibleAssignments = z
  .union([legibleTexts, z.record(z.string(), z.string().catch(UNREAD))])
  .optional()
  .catch(undefined)
const LegibleServer = z
  .object({
    alias: legibleText,
    transport: legibleText,
    command: legibleText,
    args: legibleTexts.optional().catch(undefined),
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
    allowed_side_effects: legibleTexts.optional().catch(undefined),
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
      message: `must be "stdio" or "http", not ${quoteText(found)}`,
    }
  if (field === 'tools' && code === 'too_small')
    return { rule: 'MX011', message: 'is empty, but must list every tool the server advertises' }
  const rule = typeof field === 'string' ? rulesByField[field] : undefined
  return rule && { rule }
}

function meaningProblems(manifest: Legible, isSet: EnvironmentLookup | undefined): Problem[] {
  const { servers, allowed_side_effects: allowed } = manifest
  const ofServers = servers.flatMap((server, index) => serverProblems(server, ['servers', index], allowed, isSet))
  return [...aliasProblems(servers), ...ofServers, ...topProblems(manifest)]
}

function topProblems(manifest: Legible): Problem[] {
  const problems = findHidden(manifest.description, ['description'])
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

function aliasProblems(servers: LegibleServer[]): Problem[] {
  const seen = new Set<string>()
  return servers.flatMap((server, index): Problem[] => {
    const { alias } = server
    if (alias === undefined) return []
    const isTwice = seen.has(alias)
    seen.add(alias)
    const path = ['servers', index, 'alias']
    const isReserved = reservedAliases.includes(alias) && !isOwnServer(server)
    if (!isTwice && !isReserved) return isOwnServer(server) ? foreignTools(server, ['servers', index]) : []
    const reason = isReserved ? 'is reserved for the tools of Matrix itself' : 'is used by two servers'
    return [{ rule: 'MX002', path, message: `The alias ${quoteText(alias)} ${reason}.` }]
  })
}

/** A tool that Matrix's own server does not have would stand in for one of the orchestrator's, such as `commit`. */
function foreignTools({ tools = [] }: LegibleServer, path: Path): Problem[] {
  return tools.flatMap(({ name }, index): Problem[] => {
    if (name === undefined || isOwnServerTool(name)) return []
    const message = `${quoteText(name)} is not a tool of Matrix's own server, so no manifest can declare it there.`
    return [{ rule: 'MX002', path: [...path, 'tools', index, 'name'], message, fix: 'Remove the tool.' }]
  })
}

function serverProblems(
  found: LegibleServer,
  path: Path,
  allowed: readonly string[] | undefined,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  // From here on the alias is only for messages.
  const server = { ...found, alias: shownText(found.alias ?? '') }
  return [
    ...digestProblems(server, path),
    ...findControls(server.command ?? '', [...path, 'command']),
    ...argumentProblems(server, path, isSet),
    ...launcherProblems(server, path),
    ...injectionProblems(server, path),
    ...endpointProblems(server, path, isSet),
    ...assignmentProblems('env', server.env, path, isSet),
    ...assignmentProblems('headers', server.headers, path, isSet),
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

function argumentProblems(server: LegibleServer, path: Path, isSet: EnvironmentLookup | undefined): Problem[] {
  const { alias, command = '', args = [] } = server
  const credentials = new Set(findCredentialArguments(args))
  const isForShell = /(?:^|[\\/])[a-z]*sh$/.test(command)
  return args.flatMap((argument, index): Problem[] => {
    const where = [...path, 'args', index]
    if (argument === UNREAD) return []
    const hidden = findHidden(argument, where)
    if (credentials.has(index)) {
      const message = `Argument ${index} of "${alias}" holds a literal credential.`
      return [...hidden, { rule: 'MX008', path: where, message }]
    }
    // To a shell, ${NAME} means what the author thinks it does.
    const isMeant = isForShell && argument.includes('${')
    return [
      ...hidden,
      ...(isMeant ? [] : referenceProblems(() => `Argument ${index} of "${alias}"`, argument, where, isSet)),
    ]
  })
}

/** What looks like a reference and is none, and references to what is not set. */
function referenceProblems(
  what: () => string,
  text: string,
  path: Path,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  if (!text.includes('$')) return []
  const malformed = findMalformedReference(text)
  if (malformed) {
    const message = `${what()} holds ${shownText(malformed)}, which is not a reference here and would be passed on as it stands.`
    return [{ rule: 'MX009', path, message }]
  }
  const missing = isSet ? findEnvironmentNames(text).filter((each) => !isSet(each)) : []
  return missing.map((each) => unsetVariable(each, path))
}

export function unsetVariable(name: string, path: Path): Problem {
  const shown = shownText(name)
  const message = `The environment variable ${shown} is not set.`
  return { rule: 'MX009', path, message, fix: `Set ${shown} where Matrix runs.` }
}

function launcherProblems(server: LegibleServer, path: Path): Problem[] {
  const { alias, command, args = [], version } = server
  if (command === undefined || version === undefined || args.includes(UNREAD)) return []
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
    const message = `"${alias}" is version ${shownText(version)}, but its launch argument for ${launcher.name} ${carried(launcher)}.`
    problems.push({ rule: 'MX007', path: at(launcher), message })
  }
  return [...problems, ...imageProblems(launcher, server, at(launcher))]
}

function injectionProblems({ alias = '', command, args = [], env }: LegibleServer, path: Path): Problem[] {
  if (command === undefined || args.includes(UNREAD)) return []
  const assignments = readAssignments(env)
  const stepOf = (name: string | number) => assignments.find((each) => each.name === name)?.step ?? name
  return findInjectedCode({ command, args, env: assignments }).map((each) =>
    injectionProblem(alias, each, [...path, each.field, each.field === 'env' ? stepOf(each.step) : each.step]),
  )
}

export function injectionProblem(alias: string, { severity, what }: Injection, path: Path): Problem {
  return { rule: 'MX031', severity, path, message: `"${alias}" runs more than what is pinned: ${shownText(what)}.` }
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

function endpointProblems({ endpoint }: LegibleServer, path: Path, isSet: EnvironmentLookup | undefined): Problem[] {
  if (endpoint === undefined || !URL.canParse(endpoint)) return []
  const where = [...path, 'endpoint']
  if (isLiteralCredential('', endpoint))
    return [{ rule: 'MX008', path: where, message: 'The endpoint holds a literal credential.' }]
  const references = referenceProblems(() => 'The endpoint', endpoint, where, isSet)
  const { protocol, hostname } = new URL(endpoint)
  if (protocol !== 'http:' || isLoopback(hostname)) return references
  return [
    ...references,
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
  field: 'env' | 'headers',
  entries: Assignments | undefined,
  path: Path,
  isSet: EnvironmentLookup | undefined,
): Problem[] {
  const seen = new Set<string>()
  return readAssignments(entries).flatMap((assignment): Problem[] => {
    if (assignment.value === UNREAD) return []
    const where = [...path, field, assignment.step]
    const problems = assignmentProblem(assignment, where, isSet)
    if (field === 'headers' && /[\n\t]/.test(assignment.value))
      problems.push({
        rule: 'MX001',
        path: where,
        message: 'A header cannot hold a line break or tab.',
        fix: 'Remove it.',
      })
    // To HTTP, two names that differ in case are one.
    const name = field === 'headers' ? assignment.name.toLowerCase() : assignment.name
    if (seen.has(name)) {
      const message = `${quoteText(assignment.name)} is set twice.`
      problems.push({ rule: 'MX001', path: where, message, fix: 'Keep one of the two.' })
    }
    seen.add(name)
    return problems
  })
}

function assignmentProblem({ name, value }: Assignment, path: Path, isSet: EnvironmentLookup | undefined): Problem[] {
  if (isLiteralCredential(name, value))
    return [{ rule: 'MX008', path, message: `${quoteText(name)} is given a literal credential.` }]
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
    return [{ rule: 'MX001', path, message: 'An entry must be KEY=VALUE or $env:NAME.' }]
  return [...findControls(value, path), ...referenceProblems(() => quoteText(name), value, path, isSet)]
}

function toolProblems({ alias, tools = [] }: LegibleServer, path: Path): Problem[] {
  const seen = new Set<string>()
  const problems: Problem[] = []
  for (const [index, { name, description = '' }] of tools.entries()) {
    if (hasHiddenCharacters(description))
      problems.push(...findHidden(description, [...path, 'tools', index, 'description']))
    if (name === undefined) continue
    if (seen.has(name)) {
      const message = `"${alias}" lists the tool ${quoteText(name)} twice.`
      problems.push({ rule: 'MX012', path: [...path, 'tools', index, 'name'], message })
    }
    seen.add(name)
  }
  return problems
}

const MAX_NAMED = 50

function deniedTools(
  { alias, tools = [] }: LegibleServer,
  path: Path,
  allowed: readonly string[] | undefined,
): Problem[] {
  const isDenied = (needs: string | undefined) => !allowed?.includes(needs ?? '') && SideEffect.safeParse(needs).success
  const denied = allowed ? tools.filter((tool) => isDenied(tool.side_effect_class)) : []
  if (denied.length === 0) return []
  const shown = denied
    .slice(0, MAX_NAMED)
    .map(({ name = '', side_effect_class: needs }) => `${shownText(name)} (${needs})`)
  const names = [...shown, ...(denied.length > MAX_NAMED ? ['…'] : [])].join(', ')
  const message = `${denied.length} of the ${tools.length} tools of "${alias}" can never be called by this agent: ${names}.`
  return [{ rule: 'MX013', path: [...path, 'tools'], at: 'key', message }]
}
