import { MatrixError } from '@matrix/protocol'
import * as z from 'zod'
import { checkPolicy } from '../agent-format/agent-policy.ts'
import { definitionWordProblems } from '../definition/definition-problem.ts'
import type { Problem } from '../document/finding.ts'
import { isRecord, own } from '../document/json-record.ts'
import { shownText } from '../document/quoted-text.ts'
import { type FieldRule, schemaProblems } from '../document/schema-problems.ts'
import type { Path } from '../document/source-text.ts'
import { addCredentials } from '../document/text-check.ts'
import { findCredentialArguments, isLiteralCredential } from '../manifest/credential.ts'
import { manifestDigest } from '../manifest/digest.ts'
import { findInjectedCode } from '../manifest/injected-code.ts'
import { isPinnedTo, isShellText, parseLauncher } from '../manifest/launcher.ts'
import type { Manifest, Server, StdioServer } from '../manifest/manifest.ts'
import {
  checkManifest,
  type EnvironmentLookup,
  injectionProblem,
  type ManifestCheck,
} from '../manifest/manifest-check.ts'
import { classProblems, hiddenTextProblems } from './bijection.ts'
import { Lock, type LockedPackage, type LockedServer, type LockedTool } from './lock.ts'
import { serverSurfaceDigest, toolSurfaceDigest } from './surface.ts'

type StdioLock = Extract<LockedServer, { transport: 'stdio' }>

export type LockCheck = { lock: Lock | undefined; problems: Problem[] }

const handMade = 'A lock is not edited by hand: run `matrix lock` again and read the difference.'
const frame = Lock.extend({ manifest: z.unknown().optional() })

/** Everything about a lock that can be told from the document alone: its manifest, and that all of its parts fit it and each other. */
export function checkLock(value: unknown, isSet?: EnvironmentLookup): LockCheck {
  const { lock, problems } = checkParts(value, isSet)
  return { lock, problems: addCredentials(problems, withoutDefinitions(value)) }
}

function checkParts(value: unknown, isSet: EnvironmentLookup | undefined): LockCheck {
  const parsed = frame.safeParse(value)
  const formProblems = parsed.success ? [] : schemaProblems(parsed.error, value, fieldRule).map(strictInPolicy)
  const { manifest, problems } = checkManifestOf(value, isSet)
  const found = [...formProblems, ...problems]

  const isReadable = formProblems.every(({ rule, severity }) => rule === 'MX025' && severity !== 'error')
  if (!isReadable || !manifest) return { lock: undefined, problems: found }
  // The schema changes nothing in what it accepts, so with only unknown fields to complain of, the document is the lock.
  const lock = value as Lock
  return { lock, problems: [...found, ...fitProblems(lock, manifest), ...policyProblems(lock, manifest)] }
}

/** What servers say about their tools is theirs to say, examples of tokens included; it was agreed to as it stands. */
function withoutDefinitions(value: unknown): unknown {
  const servers = own(value, 'servers')
  if (!isRecord(value) || !isRecord(servers)) return value
  const entries = Object.entries(servers).map(([alias, server]) => [
    alias,
    isRecord(server) ? { ...server, tools: undefined } : server,
  ])
  return { ...value, servers: Object.fromEntries(entries) }
}

function checkManifestOf(value: unknown, isSet: EnvironmentLookup | undefined): ManifestCheck {
  const part = own(value, 'manifest')
  if (!isRecord(part)) {
    const message = '"manifest" is required: the manifest that was locked.'
    return { manifest: undefined, problems: [{ rule: 'MX001', path: ['manifest'], message }] }
  }
  const { manifest, problems } = checkManifest(part, isSet)
  return { manifest, problems: problems.map((problem) => under('manifest', problem)) }
}

/** Elsewhere an unknown field does nothing; in a policy it may be a denial or a hook that somebody relies on. */
function strictInPolicy(problem: Problem): Problem {
  return problem.path[0] === 'policy' ? { ...problem, severity: 'error' } : problem
}

const digestFields = new Set([
  'digest',
  'surface',
  'manifest_digest',
  'dependencies_digest',
  'files_digest',
  'interpreter_digest',
  'integrity',
])

const fieldRule: FieldRule = ({ path }, found) =>
  digestFields.has(String(path.at(-1))) && typeof found === 'string' ? { rule: 'MX004' } : undefined

function fitProblems(lock: Lock, manifest: Manifest): Problem[] {
  const aliases = new Set(manifest.servers.map(({ alias }) => alias))
  const problems: Problem[] = []
  if (safely(() => manifestDigest(manifest)) !== lock.manifest_digest)
    problems.push({
      rule: 'MX006',
      path: ['manifest_digest'],
      message: 'The manifest in the lock is not the one that was locked: its digest is another.',
      fix: handMade,
    })
  for (const alias of Object.keys(lock.unavailable ?? {}))
    if (aliases.has(alias))
      problems.push({
        rule: 'MX001',
        path: ['unavailable', alias],
        at: 'key',
        message: `The lock says that "${alias}" was left out, but its manifest declares it.`,
        fix: handMade,
      })
  for (const alias of Object.keys(lock.servers))
    if (!aliases.has(alias))
      problems.push({
        rule: 'MX027',
        severity: 'error',
        path: ['servers', alias],
        at: 'key',
        message: `The lock holds the server "${alias}", which its manifest does not declare.`,
        fix: handMade,
      })
  manifest.servers.forEach((server, index) => {
    problems.push(...serverProblems(lock, server, ['manifest', 'servers', index]))
  })
  return problems
}

function serverProblems(lock: Lock, server: Server, declaredAt: Path): Problem[] {
  const { alias } = server
  const locked = Object.hasOwn(lock.servers, alias) ? lock.servers[alias] : undefined
  if (!locked)
    return [
      {
        rule: 'MX001',
        path: [...declaredAt, 'alias'],
        message: `The lock holds nothing for the server "${alias}" of its manifest.`,
        fix: 'Run `matrix lock` again.',
      },
    ]
  const path: Path = ['servers', alias]
  return [...connectionProblems(server, locked, path), ...toolProblems(server, locked, path, declaredAt)]
}

function connectionProblems(server: Server, locked: LockedServer, path: Path): Problem[] {
  if (server.transport === 'stdio' && locked.transport === 'stdio')
    return [
      ...differs('MX006', [...path, 'package', 'digest'], locked.package.digest, server.package_digest),
      ...differs('MX006', [...path, 'package', 'version'], locked.package.version, server.version),
      ...identityProblems(server, locked.package, [...path, 'package']),
      ...launchProblems(locked, [...path, 'launch']),
      ...findInjectedCode({ ...locked.launch, env: [] }).map((each) =>
        injectionProblem(server.alias, each, [...path, 'launch', each.field, each.step]),
      ),
      ...findCredentialArguments(locked.launch.args).map(
        (index): Problem => ({
          rule: 'MX008',
          path: [...path, 'launch', 'args', index],
          message: `Argument ${index} of "${server.alias}" holds a literal credential.`,
        }),
      ),
    ]
  if (server.transport === 'http' && locked.transport === 'http')
    return [
      ...endpointProblems(locked.endpoint, server.endpoint, [...path, 'endpoint']),
      ...differs('MX006', [...path, 'surface'], locked.surface, server.package_digest ?? locked.surface),
    ]
  return differs('MX003', [...path, 'transport'], locked.transport, server.transport)
}

/** The package of the lock must be the one that the manifest starts; what is no package there comes from no registry here. */
function identityProblems(
  { command, args = [] }: StdioServer,
  { ecosystem, name }: LockedPackage,
  path: Path,
): Problem[] {
  const launcher = parseLauncher(command, args)
  if (launcher.kind === 'package')
    return [
      ...differs('MX006', [...path, 'ecosystem'], ecosystem, launcher.ecosystem),
      ...differs('MX006', [...path, 'name'], shownText(name), shownText(launcher.name)),
    ]
  if (launcher.kind === 'unclear' || ecosystem === 'file' || ecosystem === 'mcpb') return []
  const message = `The lock says that a package of ${ecosystem} runs, but the manifest starts none.`
  return [{ rule: 'MX006', path: [...path, 'ecosystem'], message, fix: handMade }]
}

/** What is really run is a file of the verified package: nothing that fetches or works out what to run. */
function launchProblems({ launch: { command, args }, package: { version } }: StdioLock, path: Path): Problem[] {
  const launcher = parseLauncher(command, args)
  const isFixed = launcher.kind !== 'unclear' && isPinnedTo(launcher, version) && !isShellText(command, args)
  if (isFixed) return []
  const message = 'What the lock says is run is a shell or a launcher, which could start anything.'
  return [{ rule: 'MX007', severity: 'error', path: [...path, 'command'], message, fix: handMade }]
}

/** An address may hold a credential, so neither of the two is shown. */
function endpointProblems(locked: string, declared: string, path: Path): Problem[] {
  const problems: Problem[] = []
  if (isLiteralCredential('', locked))
    problems.push({ rule: 'MX008', path, message: 'The endpoint holds a literal credential.' })
  if (locked !== declared)
    problems.push({ rule: 'MX003', path, message: 'The manifest and the lock name two endpoints.', fix: handMade })
  return problems
}

function differs(rule: 'MX003' | 'MX006', path: Path, locked: string, declared: string): Problem[] {
  const message = `The manifest says "${declared}", the lock says "${locked}".`
  return locked === declared ? [] : [{ rule, path, message, fix: handMade }]
}

function toolProblems(server: Server, locked: LockedServer, path: Path, declaredAt: Path): Problem[] {
  const problems: Problem[] = []
  server.tools.forEach((tool, index) => {
    const where = [...declaredAt, 'tools', index]
    const entry = Object.hasOwn(locked.tools, tool.name) ? locked.tools[tool.name] : undefined
    if (entry) problems.push(...classProblems(tool, entry.definition, where))
    else
      problems.push({
        rule: 'MX010',
        path: [...where, 'name'],
        message: `The lock holds no definition of "${tool.name}" of "${server.alias}".`,
        fix: 'Run `matrix lock` again.',
      })
  })
  const declared = new Set(server.tools.map(({ name }) => name))
  for (const [name, entry] of Object.entries(locked.tools))
    problems.push(
      ...(declared.has(name) ? [] : [undeclared(server.alias, name, [...path, 'tools', name])]),
      ...definitionProblems(name, entry, [...path, 'tools', name]),
    )
  return [...problems, ...surfaceProblems(locked, path)]
}

function undeclared(alias: string, name: string, path: Path): Problem {
  const message = `The lock defines ${JSON.stringify(name)} of "${alias}", which its manifest does not declare.`
  return { rule: 'MX011', path, at: 'key', message, fix: handMade }
}

function definitionProblems(name: string, { surface, definition }: LockedTool, path: Path): Problem[] {
  const shown = JSON.stringify(name)
  const at = [...path, 'definition']
  const problems = [...hiddenTextProblems(definition, at), ...definitionWordProblems(definition, at)]
  if (definition.name !== name)
    problems.push({
      rule: 'MX021',
      path: [...path, 'definition', 'name'],
      message: `The definition that is kept for ${shown} is that of another tool.`,
      fix: handMade,
    })
  if (safely(() => toolSurfaceDigest(definition)) !== surface)
    problems.push({
      rule: 'MX021',
      path: [...path, 'surface'],
      message: `The definition of ${shown} is not the one that was locked: its digest is another.`,
      fix: handMade,
    })
  return problems
}

function surfaceProblems({ tools, surface }: LockedServer, path: Path): Problem[] {
  const definitions = Object.values(tools).map(({ definition }) => definition)
  if (safely(() => serverSurfaceDigest(definitions)) === surface) return []
  const message = 'The tools are not those that were locked: the digest of them all is another.'
  return [{ rule: 'MX021', path: [...path, 'surface'], message, fix: handMade }]
}

/** The policy is already in its normal form, so that the checks of its source find only what was changed since. */
function policyProblems({ policy, unavailable = {} }: Lock, { servers }: Manifest): Problem[] {
  if (!policy) return []
  const declared = [...servers.map(({ alias }) => alias), ...Object.keys(unavailable)]
  const mcpServers = Object.fromEntries(declared.map((alias) => [alias, {}]))
  return checkPolicy({ ...policy, mcpServers }).problems.map((problem) => under('policy', problem))
}

function under(field: string, problem: Problem): Problem {
  return { ...problem, path: [field, ...problem.path] }
}

/** A value without a canonical form has no digest, so it never has the right one. */
function safely(work: () => string): string | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof MatrixError) return undefined
    throw error
  }
}
