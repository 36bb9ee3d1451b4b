import { basename, dirname, resolve } from 'node:path'
import {
  checkAgentFormat,
  checkManifest,
  createLock,
  type DefinitionFinding,
  detectDocument,
  digestValue,
  type Format,
  importServers,
  type Lock,
  lintDefinitions,
  type Manifest,
  type Policy,
  renameServers,
  type Server,
  type ServerDraft,
  SideEffect,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import {
  checkServer,
  driftError,
  lockHookFiles,
  type PinnedServer,
  type ProposedClass,
  pinServer,
} from '@matrix/tool-manager'
import { requiredServers } from './gpars-servers.ts'
import { printError } from './terminal.ts'
import type { Workbench } from './workbench.ts'

export type LockProposal = {
  lock: Lock
  classes: ProposedClass[]
  notes: string[]
  /** Words in the definitions that speak to the model, by server. */
  findings: ServerFinding[]
}

export type ServerFinding = DefinitionFinding & { server: string }

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

export type ProposalOptions = { agent?: string; catalog?: string; keepsState?: string[] }

export async function proposeLock(
  path: string,
  bytes: Uint8Array,
  bench: Workbench,
  options: ProposalOptions,
): Promise<LockProposal> {
  const { value, format, findings } = await detectDocument(bytes, { fileName: basename(path) })
  if (value === undefined)
    throw new MatrixError('DOCUMENT_INVALID', `${path}: ${findings[0]?.message ?? 'not readable'}`)
  const draft = await readDraft(value, format, options)
  const pinned: PinnedServer[] = []
  for (const server of draft.servers) pinned.push(await pinServer(server, { ...bench, onStep: printError }))
  for (const server of draft.complete?.servers ?? []) assertDeclared(server, pinned)

  const classes = pinned.flatMap((each) => each.classes)
  const used = SideEffect.options.filter((effect) => classes.some((each) => each.class === effect && !each.isDoubtful))
  const manifest: Manifest = draft.complete ?? {
    schema_version: 1,
    agent: draft.agent,
    ...(draft.description !== undefined && { description: draft.description }),
    allowed_side_effects: draft.allowed ?? used,
    servers: pinned.map(({ server }) => server),
  }
  const { keepsState = [] } = options
  const lock = createLock({
    source: { format: draft.format, digest: digestValue(value) },
    manifest,
    servers: Object.fromEntries(
      pinned.map(({ server, resolved }) => [server.alias, keepState(resolved, keepsState.includes(server.alias))]),
    ),
    policy: draft.policy,
    hook_files: await lockHookFiles(draft.policy, path === '-' ? process.cwd() : dirname(resolve(path))),
  })
  const shared = keepsState.map((alias) => sharingNote(alias, classes))
  const notes = [...draft.notes, ...shared, ...pinned.flatMap(({ cuts }) => cuts)]
  return { lock, classes, notes, findings: pinned.flatMap((each) => findingsOf(each, pinned)) }
}

function keepState(resolved: PinnedServer['resolved'], isKept: boolean): PinnedServer['resolved'] {
  return isKept && resolved.transport === 'stdio' ? { ...resolved, keeps_state: true } : resolved
}

/** What the user agrees to with a server that is not started once per class. */
function sharingNote(alias: string, classes: readonly ProposedClass[]): string {
  const own = classes.filter((each) => each.alias === alias)
  if (own.length === 0)
    throw new MatrixError('REQUEST_INVALID', `--keeps-state: the agent has no server "${alias}".`, {
      hint: `It has ${[...new Set(classes.map((each) => each.alias))].join(', ')}.`,
    })
  const all = [...new Set(own.map((each) => each.class))].join(', ')
  return `"${alias}" keeps state: one process serves all of its tools, so each of them has the sandbox of ${all}.`
}

/** With the names of the other servers' tools, which no server knows on its own. */
function findingsOf({ server, resolved, findings }: PinnedServer, all: readonly PinnedServer[]): ServerFinding[] {
  const others = all
    .filter((each) => each.server.alias !== server.alias)
    .flatMap((each) => each.resolved.tools.map(({ name }) => name))
  const imitations = lintDefinitions(resolved.tools, { others }).filter(({ rule }) => rule === 'name-imitation')
  return [...findings, ...imitations].map((finding) => ({ ...finding, server: server.alias }))
}

async function readDraft(value: unknown, format: Format | undefined, options: ProposalOptions): Promise<Draft> {
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
function assertDeclared(server: Server, pinned: readonly PinnedServer[]): void {
  const found = pinned.find((each) => each.server.alias === server.alias)
  const verification = checkServer(server, found?.resolved.tools ?? [])
  if (verification.drift.length > 0) throw driftError(server.alias, verification)
}
