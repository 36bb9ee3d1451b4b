import {
  checkAgentFormat,
  checkManifest,
  createLock,
  detectFormat,
  digestValue,
  type HttpServer,
  importServers,
  isExactVersion,
  isPlaceholderDigest,
  type Lock,
  type Manifest,
  type Policy,
  parseDocument,
  parseLauncher,
  proposeSideEffect,
  renameServers,
  type Server,
  type ServerDraft,
  SideEffect,
  type StdioServer,
  serverSurfaceDigest,
  type Tool,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { checkServer, driftError, fetchNpmPackage } from '@matrix/tool-manager'
import { requiredServers } from './gpars-servers.ts'
import { printError } from './terminal.ts'
import type { Workbench } from './workbench.ts'

/** A class for one tool with where it comes from, for a person to agree to. */
export type ProposedClass = { alias: string; tool: string; class: SideEffect; reason: string }

export type LockProposal = { lock: Lock; classes: ProposedClass[]; notes: string[] }

/** An agent of any format, before it is known what its servers have. */
type Draft = {
  format: string
  agent: string
  description: string | undefined
  /** Undefined where the format has no such thing: then the classes of the tools are it. */
  allowed: Manifest['allowed_side_effects'] | undefined
  servers: (Server | ServerDraft)[]
  policy: Policy | undefined
  notes: string[]
  /** The manifest itself, where there is nothing left to fill in: then it is locked as it stands. */
  complete?: Manifest
}

export type ProposalOptions = { agent?: string; catalog?: string }

export async function proposeLock(
  path: string,
  bytes: Uint8Array,
  bench: Workbench,
  options: ProposalOptions,
): Promise<LockProposal> {
  const { value, findings } = parseDocument(bytes, { relaxed: true })
  if (value === undefined)
    throw new MatrixError('DOCUMENT_INVALID', `${path}: ${findings[0]?.message ?? 'not readable'}`)
  const draft = await readDraft(value, options)
  const resolved = []
  for (const server of draft.servers) resolved.push(await resolveServer(server, bench))
  for (const server of draft.complete?.servers ?? []) assertDeclared(server, resolved)

  const classes = resolved.flatMap(({ server, classes: proposed }) =>
    proposed.map((each) => ({ alias: server.alias, ...each })),
  )
  const used = SideEffect.options.filter((effect) => classes.some((each) => each.class === effect))
  const manifest: Manifest = draft.complete ?? {
    schema_version: 1,
    agent: draft.agent,
    ...(draft.description !== undefined && { description: draft.description }),
    allowed_side_effects: draft.allowed ?? used,
    servers: resolved.map(({ server }) => server),
  }
  const lock = createLock({
    source: { format: draft.format, digest: digestValue(value) },
    manifest,
    servers: Object.fromEntries(resolved.map(({ server, locked }) => [server.alias, locked])),
    policy: draft.policy,
  })
  const suspicions = resolved.flatMap(({ server, locked }) =>
    locked.tools.flatMap((tool) => suspicionsOf(server.alias, tool)),
  )
  return { lock, classes, notes: [...draft.notes, ...suspicions] }
}

async function readDraft(value: unknown, options: ProposalOptions): Promise<Draft> {
  const format = detectFormat(value)
  if (format === 'matrix' || format === 'lock') return readManifest(format, value)
  if (format === 'gpars')
    return { ...(await requiredServers(value, options.catalog)), format, allowed: undefined, policy: undefined }
  const { manifest, aliases, problems } = importServers(
    value,
    options.agent === undefined ? {} : { agent: options.agent },
  )
  const policy = format === 'agent-format' ? checkAgentFormat(value).policy : undefined
  if (format === 'agent-format' && !policy)
    throw new MatrixError('DOCUMENT_INVALID', 'The agent has errors of its own, so it cannot be locked.')
  return {
    format: format ?? 'unknown',
    agent: manifest.agent,
    description: manifest.description,
    allowed: undefined,
    servers: manifest.servers,
    policy: policy && renameServers(policy, aliases),
    notes: problems.filter(({ severity }) => severity !== undefined).map(({ message }) => message),
  }
}

function readManifest(format: string, value: unknown): Draft {
  const part = format === 'lock' ? (value as { manifest: unknown }).manifest : value
  const { manifest } = checkManifest(part)
  if (!manifest) {
    // A draft has gaps that only this command fills, so what is asked of it is only that it has servers.
    const { agent, description, servers, allowed_side_effects: allowed } = part as Manifest
    if (!Array.isArray(servers)) throw new MatrixError('DOCUMENT_INVALID', 'The manifest has no servers to lock.')
    return {
      format,
      agent,
      description,
      allowed: allowed?.length > 0 ? allowed : undefined,
      servers,
      policy: undefined,
      notes: [],
    }
  }
  const { agent, description, allowed_side_effects: allowed, servers } = manifest
  const policy = format === 'lock' ? (value as Lock).policy : undefined
  const draft = { format, agent, description, allowed, servers, policy, notes: [] }
  return format === 'matrix' ? { ...draft, complete: manifest } : draft
}

/** Its author said what the server has; if that is not so, one of the two has to change before anything is locked. */
function assertDeclared(server: Server, resolved: readonly Resolved[]): void {
  const found = resolved.find((each) => each.server.alias === server.alias)
  const verification = checkServer(server, found?.locked.tools ?? [])
  if (verification.drift.length > 0) throw driftError(server.alias, verification)
}

type Resolved = {
  server: Server
  locked: Parameters<typeof createLock>[0]['servers'][string]
  classes: Omit<ProposedClass, 'alias'>[]
}

async function resolveServer(draft: Server | ServerDraft, bench: Workbench): Promise<Resolved> {
  const pinned: Server =
    draft.transport === 'stdio'
      ? await pinPackage(draft)
      : { ...(draft as HttpServer), version: versionOf(draft), tools: [] }
  printError(`${draft.alias}: asking for its tools`)
  const { tools, launch } = await bench.pool.enumerate({
    server: pinned,
    sideEffects: draft.tools.flatMap((tool) => ('side_effect_class' in tool ? [tool.side_effect_class] : [])),
    worktree: bench.emptyFolder,
  })
  if (tools.length === 0)
    throw new MatrixError('TOOL_DRIFT', `"${draft.alias}" has no tools, so there is nothing to lock.`)
  const classes = tools.map((surface) => classOf(draft, surface))
  const declared = tools.map((surface, index): Tool => {
    const known = draft.tools.find(({ name }) => name === surface.name)
    const description = known?.description ?? surface.description?.slice(0, MAX_DESCRIPTION)
    return {
      ...known,
      name: surface.name,
      ...(description !== undefined && { description }),
      side_effect_class: classes[index]?.class ?? 'shell',
    }
  })
  if (pinned.transport === 'http') {
    const server = { ...pinned, tools: declared, package_digest: serverSurfaceDigest(tools) }
    return { server, classes, locked: { transport: 'http', endpoint: pinned.endpoint, tools } }
  }
  if (!launch) throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${draft.alias}" was not started from a package.`)
  const server = { ...pinned, tools: declared, package_digest: launch.package.digest }
  return { server, classes, locked: { transport: 'stdio', launch: launch.locked, package: launch.package, tools } }
}

/** A class that somebody wrote down stands; only what nobody has classified is guessed at, and said to be a guess. */
function classOf(draft: Server | ServerDraft, surface: ToolSurface): Omit<ProposedClass, 'alias'> {
  const known = draft.tools.find(({ name }) => name === surface.name)
  if (known && 'side_effect_class' in known && known.side_effect_class)
    return { tool: surface.name, class: known.side_effect_class, reason: 'as the manifest says' }
  const { class: proposed, reason } = proposeSideEffect(surface)
  return { tool: surface.name, class: proposed, reason: `proposed: ${reason}` }
}

/** As much as a description that a model reads at every turn should need. */
const MAX_DESCRIPTION = 1024
const commanding =
  /<\/?(?:important|system|instructions?|secret)\b|\b(?:ignore|disregard|forget) (?:all|any|the|your|previous)\b|\bdo not (?:tell|mention|inform|show)\b|\.ssh\b|\bid_rsa\b|\bbefore (?:using|calling) (?:this|any other) tool\b/i

/** What a definition says to the model rather than about the tool; a person has to read it before they agree. */
function suspicionsOf(alias: string, tool: ToolSurface): string[] {
  const text = JSON.stringify(tool)
  const found = commanding.exec(text)?.[0]
  const length = tool.description?.length ?? 0
  return [
    ...(found ? [`${alias}/${tool.name} speaks to the model ("${found}"): read its definition before you agree.`] : []),
    ...(length > MAX_DESCRIPTION
      ? [
          `The description of ${alias}/${tool.name} has ${length} characters; the manifest keeps the first ${MAX_DESCRIPTION}.`,
        ]
      : []),
  ]
}

/** An exact version for what floats, written into the arguments, and the digest of its bytes. */
async function pinPackage(draft: StdioServer | Extract<ServerDraft, { transport: 'stdio' }>): Promise<StdioServer> {
  const { alias, command, args = [], version, package_digest: digest } = draft
  const launcher = parseLauncher(command, args)
  const isPinned = isExactVersion(version) && !isPlaceholderDigest(digest)
  const base: StdioServer = { ...(draft as StdioServer), version: versionOf(draft), tools: [] }
  if (launcher.kind !== 'package' || launcher.ecosystem !== 'npm' || (isPinned && launcher.version === version))
    return base
  const named = args[launcher.argument]
  const isPlain = named === launcher.spec
  if (!isPlain && named !== `--package=${launcher.spec}`)
    throw new MatrixError('PACKAGE_UNVERIFIABLE', `"${alias}" starts ${launcher.name} from within a longer text.`, {
      hint: 'Write the launcher itself: "command": "npx", "args": ["-y", "<package>", …].',
    })
  const wanted = isExactVersion(version) ? version : (launcher.version ?? 'latest')
  printError(`${alias}: looking up ${launcher.name}@${wanted}`)
  const found = await fetchNpmPackage(`${launcher.name}@${wanted}`)
  const spec = `${found.name}@${found.version}`
  const pinned = args.with(launcher.argument, isPlain ? spec : `--package=${spec}`)
  return { ...base, args: pinned, version: found.version, package_digest: found.package_digest }
}

/** A local file and a remote server have no published version; theirs is counted from here. */
function versionOf({ version }: { version: string }): string {
  return isExactVersion(version) ? version : '0.0.0'
}
