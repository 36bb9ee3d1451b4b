import { findHiddenCharacters } from '@matrix/protocol'
import * as z from 'zod'
import { ArgumentRoles } from '../manifest/argument-role.ts'
import { manifestDigest } from '../manifest/digest.ts'
import { Manifest, type Server } from '../manifest/manifest.ts'
import { isOwnServer } from '../manifest/own-server.ts'
import { DIGEST_SHAPE, isExactVersion } from '../manifest/tool-uri.ts'
import { Policy } from '../policy/policy.ts'
import { proposeArgumentRoles } from './argument-role-proposal.ts'
import { serverSurfaceDigest, ToolSurface, toolSurfaceDigest } from './surface.ts'

const text = z.string().min(1)
const digest = z.string().regex(DIGEST_SHAPE, 'sha256: and 64 lower-case hex digits')

export const LockedTool = z.strictObject({
  surface: digest.describe('The digest of the definition.'),
  definition: z.strictObject(ToolSurface.shape).describe('What the server said about the tool when it was locked.'),
  arguments: ArgumentRoles.optional().describe(
    'Which arguments are paths, commands and hosts: as the manifest says, else as proposed when it was locked.',
  ),
})
export type LockedTool = z.infer<typeof LockedTool>

export const LockedPackage = z.strictObject({
  ecosystem: z.enum(['npm', 'pypi', 'oci', 'nuget', 'mcpb', 'file']),
  name: text.describe('The package, image or file.'),
  version: z.string().refine(isExactVersion, 'one exact version, such as 2026.8.31'),
  digest: digest.describe('sha256 of the bytes as published.'),
  integrity: z
    .string()
    .regex(/^sha512-[A-Za-z0-9+/]{86}==$/, 'sha512- and the digest in base64, as registries state it')
    .optional(),
  dependencies_digest: digest.optional().describe('The digest of the lock file of everything the package needs.'),
  interpreter_digest: digest.optional().describe('Of a script: the digest of the program that runs it.'),
  files_digest: digest.optional().describe('Of a file or bundle: the digest of every file that it can load.'),
})
export type LockedPackage = z.infer<typeof LockedPackage>

const common = {
  surface: digest.describe('The digest of all definitions, sorted by name.'),
  tools: z.record(z.string(), LockedTool),
}

export const LockedServer = z.discriminatedUnion('transport', [
  z.strictObject({
    transport: z.literal('stdio'),
    launch: z
      .strictObject({ command: text, args: z.array(z.string()) })
      .describe('What is really run, from the verified package; a relative file is one of the package.'),
    package: LockedPackage,
    keeps_state: z
      .literal(true)
      .optional()
      .describe('One process serves the tools of every class, because it keeps state between their calls.'),
    ...common,
  }),
  z.strictObject({
    transport: z.literal('http'),
    endpoint: z.url({ protocol: /^https?$/, error: 'an http or https URL' }),
    ...common,
  }),
])
export type LockedServer = z.infer<typeof LockedServer>

export const UnavailableServer = z.strictObject({
  reason: text.describe('Why it could not be started or reached when the agent was added.'),
  tools: z.array(text).describe('The tools that the agent names; a call of one answers SERVER_UNAVAILABLE.'),
})
export type UnavailableServer = z.infer<typeof UnavailableServer>

/** A manifest together with everything it was checked against: what runs, from which bytes, and what each tool said of itself. */
export const Lock = z.strictObject({
  lock_version: z.literal(1),
  source: z.strictObject({
    format: text.describe('The format the agent was written in.'),
    digest: digest.describe('The digest of that document.'),
  }),
  manifest: Manifest,
  manifest_digest: digest,
  servers: z.record(z.string(), LockedServer).describe('By alias.'),
  unavailable: z
    .record(z.string(), UnavailableServer)
    .optional()
    .describe('Servers that the agent declares and that were left out, by alias.'),
  policy: Policy.optional(),
  hook_files: z
    .record(z.string().regex(/^(?!\.{0,2}(?:\/|$))(?!.*\/\.{0,2}(?:\/|$)).+$/, 'a path within the project'), digest)
    .optional()
    .describe('The digest of every file of the project that hooks run from, by its path.'),
})
export type Lock = z.infer<typeof Lock>

type Without<Part, Key extends PropertyKey> = Part extends unknown ? Omit<Part, Key> : never

/** A server as it was started or reached, with what it advertised then. */
export type ResolvedServer = Without<LockedServer, 'surface' | 'tools'> & { tools: readonly ToolSurface[] }

export type Resolved = {
  source: Lock['source']
  manifest: Manifest
  /** By alias. */
  servers: Readonly<Record<string, ResolvedServer>>
  unavailable?: Lock['unavailable']
  policy?: Policy | undefined
  hook_files?: Lock['hook_files']
}

/** Puts a lock together and works out its digests. Whether the parts fit each other is for `checkLock` to say. */
export function createLock({ source, manifest, servers, unavailable, policy, hook_files }: Resolved): Lock {
  return {
    lock_version: 1,
    source,
    manifest,
    manifest_digest: manifestDigest(manifest),
    servers: Object.fromEntries(
      Object.entries(servers).map(([alias, server]) => [
        alias,
        lockServer(
          server,
          manifest.servers.find((each) => each.alias === alias),
        ),
      ]),
    ),
    ...(unavailable && Object.keys(unavailable).length > 0 && { unavailable }),
    ...(policy && { policy }),
    ...(hook_files && { hook_files }),
  }
}

function lockServer({ tools, ...server }: ResolvedServer, declared: Server | undefined): LockedServer {
  const definitions = tools.map((tool) => ToolSurface.parse(tool))
  const locked = definitions.map((definition) => [
    definition.name,
    { surface: toolSurfaceDigest(definition), definition, ...rolesOf(definition, declared) },
  ])
  return { ...server, surface: serverSurfaceDigest(definitions), tools: Object.fromEntries(locked) }
}

/** Matrix's own tools bring their roles with them. */
function rolesOf(definition: ToolSurface, declared: Server | undefined): Pick<LockedTool, 'arguments'> {
  if (declared && isOwnServer(declared)) return {}
  const said = declared?.tools.find(({ name }) => name === definition.name)?.arguments
  return { arguments: said ?? proposeArgumentRoles(definition) }
}

/** The one text of a lock: keys sorted at every level, and characters that nobody sees written as escapes, so that a review shows them. */
export function formatLock(lock: Lock): string {
  return `${escapeHidden(JSON.stringify(sortKeys(lock), null, 2))}\n`
}

function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, part]) => [key, sortKeys(part)]))
}

function escapeHidden(json: string): string {
  return findHiddenCharacters(json).reduce((escaped, name) => {
    const character = String.fromCodePoint(Number.parseInt(name.slice(2), 16))
    const units = character.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    return escaped.replaceAll(character, units.join(''))
  }, json)
}
