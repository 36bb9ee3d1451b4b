import {
  createLock,
  type DefinitionFinding,
  type DetectedDocument,
  digestValue,
  isOwnServer,
  isToolVisible,
  type Lock,
  lintDefinitions,
  type Manifest,
  type Policy,
  type Server,
  type ServerDraft,
  SideEffect,
  type UnavailableServer,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { type AgentDraft, type DraftOptions, readAgentDraft } from './agent-draft.ts'
import { withPrompt } from './agent-prompt.ts'
import { lockHookFiles } from './hook-files.ts'
import { type PinnedServer, type PinOptions, type ProposedClass, pinServer } from './server-pin.ts'
import { checkServer, driftError } from './verification.ts'

/** An agent with everything about it pinned, before anybody has agreed to it. */
export type AgentProposal = {
  lock: Lock
  classes: ProposedClass[]
  notes: string[]
  /** Words in the definitions that speak to the model, by server. */
  findings: ServerFinding[]
  /** Servers that could not be started, reached or verified, and why. */
  leftOut: LeftOut[]
}

export type ServerFinding = DefinitionFinding & { server: string }
export type LeftOut = { alias: string; error: MatrixError }

export type ProposalOptions = DraftOptions &
  Omit<PinOptions, 'base'> & {
    /** Servers of which one process serves the tools of every class. */
    keepsState?: readonly string[] | undefined
  }

/** Resolves, pins, starts and enumerates every server of an agent, side by side. One that fails is left out, with the reason. */
export async function proposeAgent(document: DetectedDocument, options: ProposalOptions): Promise<AgentProposal> {
  const { keepsState = [], folder } = options
  const read = readAgentDraft(document, options)
  const prompted = read.policy && (await withPrompt(read.policy, folder))
  const draft = { ...read, policy: prompted?.policy, notes: [...read.notes, ...(prompted?.notes ?? [])] }
  const settled = await Promise.all(draft.servers.map((server) => tryPin(server, options)))
  const pinned = settled.filter((each) => 'resolved' in each)
  const leftOut = settled.filter((each) => 'error' in each)
  for (const server of draft.complete?.servers ?? []) assertDeclared(server, pinned)

  const classes = pinned.flatMap((each) => each.classes)
  const lock = createLock({
    source: { format: draft.format, digest: digestValue(document.value) },
    manifest: manifestOf(draft, pinned),
    servers: Object.fromEntries(
      pinned.map(({ server, resolved }) => [server.alias, keepState(resolved, keepsState.includes(server.alias))]),
    ),
    unavailable: Object.fromEntries(leftOut.map((each) => [each.alias, unavailable(each, draft.policy)])),
    policy: draft.policy,
    hook_files: await lockHookFiles(draft.policy, folder),
  })
  const shared = keepsState.map((alias) => sharingNote(alias, classes))
  const notes = [...draft.notes, ...shared, ...pinned.flatMap(({ cuts }) => cuts)]
  return { lock, classes, notes, findings: pinned.flatMap((each) => findingsOf(each, pinned)), leftOut }
}

async function tryPin(server: Server | ServerDraft, options: ProposalOptions): Promise<PinnedServer | LeftOut> {
  try {
    return await pinServer(server, { ...options, base: options.folder })
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    // Without Matrix's own tools there is nothing to add: that is a fault of the installation.
    if (options.signal?.aborted || isOwnServer(server)) throw error
    return { alias: server.alias, error }
  }
}

function manifestOf({ complete, agent, description, allowed, policy }: AgentDraft, pinned: PinnedServer[]): Manifest {
  if (complete) return { ...complete, servers: complete.servers.filter(({ alias }) => isAmong(pinned, alias)) }
  const shown = pinned.flatMap(({ server, classes }) => classes.filter(({ tool }) => isShown(server, tool, policy)))
  const used = SideEffect.options.filter((effect) => shown.some((each) => each.class === effect && !each.isDoubtful))
  return {
    schema_version: 1,
    agent,
    ...(description !== undefined && { description }),
    allowed_side_effects: allowed ?? used,
    servers: pinned.map(({ server }) => server),
  }
}

function isAmong(pinned: readonly PinnedServer[], alias: string): boolean {
  return pinned.some(({ server }) => server.alias === alias)
}

function isShown(server: Server, tool: string, policy: Policy | undefined): boolean {
  return !policy || isToolVisible(policy.tools, { server: isOwnServer(server) ? undefined : server.alias, tool })
}

/** The tools that the agent names are all that is known of a server that never answered. */
function unavailable({ alias, error }: LeftOut, policy: Policy | undefined): UnavailableServer {
  const named = [...(policy?.tools ?? []), ...(policy?.allowedTools ?? [])]
  const tools = named.flatMap((reference) => {
    const [server, tool = ''] = reference.startsWith('@') ? reference.slice(1).split('/') : []
    return server === alias && /^[A-Za-z0-9._-]+$/.test(tool) ? [tool] : []
  })
  return { reason: error.message, tools: [...new Set(tools)] }
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

/** Its author said what the server has; if that is not so, one of the two has to change before anything is locked. */
function assertDeclared(server: Server, pinned: readonly PinnedServer[]): void {
  const found = pinned.find((each) => each.server.alias === server.alias)
  if (!found) return
  const verification = checkServer(server, found.resolved.tools)
  if (verification.drift.length > 0) throw driftError(server.alias, verification)
}
