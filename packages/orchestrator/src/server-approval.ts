import { digestValue, type SideEffect } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { ApprovalAnswer, ApprovalRequest, ApprovalScope, LockFiles, PinnedServer } from '@matrix/tool-manager'
import type { Config, ConfigProject, UnapprovedServer } from './config/config.ts'
import type { McpServerConfig } from './config/settings.ts'
import { type AgreedServer, type AgreedServers, draftOf, entryDigest, proposeServer } from './config-servers.ts'
import type { ManifestCatalog, UnapprovedAgent } from './manifest-catalog.ts'
import type { World } from './world.ts'

export type ServerApprovalPorts = {
  world: Pick<World, 'clock'>
  project: ConfigProject
  config: Pick<Config, 'resolve' | 'approveServer'>
  catalog: Pick<ManifestCatalog, 'get' | 'findUnapproved' | 'approve'>
  agreed: AgreedServers
  /** Starts a server in a box to see what it has. */
  pin(draft: ReturnType<typeof draftOf>): Promise<PinnedServer & { lockFiles: LockFiles }>
  onProblem(error: unknown, about: string): void
  /** The user has approved something that agents can use from now on. */
  onAgreed(): void
}

/** Puts something before a person and waits for the answer. */
export type Ask = (request: Omit<ApprovalRequest, 'agent'> & { scopes?: ApprovalScope[] }) => Promise<ApprovalAnswer>

export type ServerApprovals = {
  /** The servers of the settings that agents may have: agreed to, and from the entry that is in force. */
  usable(): Promise<AgreedServer[]>
  /** In place of what was agreed to under the same name. */
  keep(server: AgreedServer): Promise<void>
  /** Puts everything before a person that agents by these manifests would have if somebody agreed. Never fails; nobody has to wait for it. */
  review(agents: readonly string[], ask: Ask): Promise<void>
  /** Puts those manifests before the user without which these agents cannot start, and waits for the answers. */
  awaitAgents(agents: readonly string[], ask: Ask): Promise<void>
}

/** Nobody is hurried, and no agent waits: what is agreed to is there for those that start afterwards. */
const PATIENCE_MS = 365 * 24 * 3600 * 1000

export function openServerApprovals(ports: ServerApprovalPorts): ServerApprovals {
  const { project, config, catalog, agreed } = ports
  // What is being asked or was denied is not asked again for as long as this process lives.
  const asked = new Map<string, Promise<boolean>>()

  function once(key: string, about: string, work: () => Promise<boolean>): Promise<boolean> {
    const known = asked.get(key)
    if (known) return known
    const asking = work().then(
      (isAgreed) => {
        if (isAgreed) ports.onAgreed()
        return isAgreed
      },
      (error) => {
        asked.delete(key)
        ports.onProblem(error, about)
        return false
      },
    )
    asked.set(key, asking)
    return asking
  }

  async function usable(): Promise<AgreedServer[]> {
    const { mcpServers } = (await config.resolve(project)).settings
    return (await agreed.list()).filter(({ alias, entry }) => {
      const given = Object.hasOwn(mcpServers, alias) ? mcpServers[alias] : undefined
      return given !== undefined && entryDigest(project, alias, given) === entry
    })
  }

  /** Before this, nothing of it is started, not even to look at it. */
  async function askForEntry({ name, server, digest, file }: UnapprovedServer, ask: Ask): Promise<boolean> {
    const answer = await ask({
      ...request(`server-${digest}`, file, 'shell'),
      input: { name, server },
      inputDigest: digest,
      reason: `The server "${name}" came with the repository. If you allow it, it is started in a box, and what it has is put before you.`,
    })
    if (answer.decision === 'deny') return false
    await config.approveServer(project, name, digest)
    return reviewServer(name, server, ask)
  }

  function reviewServer(alias: string, given: McpServerConfig, ask: Ask): Promise<boolean> {
    const entry = entryDigest(project, alias, given)
    return once(entry, alias, async () => {
      const { lockFiles, ...pinned } = await ports.pin(draftOf(project, alias, given))
      const { classes, suspicions, lock, ...rest } = proposeServer(entry, pinned, lockFiles)
      const input = { server: pinned.server, classes, suspicions, surface: lock.servers[alias]?.surface }
      const answer = await ask({
        ...request(`servers-${lock.manifest_digest}`, `mcpServers.${alias}`, strongest(classes)),
        input,
        inputDigest: digestValue(input),
        reason: `Agents may call its ${classes.length} tools within what their manifests allow; any change of them is refused from then on.`,
      })
      if (answer.decision === 'allow') await agreed.keep({ ...rest, lock })
      return answer.decision === 'allow'
    })
  }

  async function askForAgent(agent: UnapprovedAgent, ask: Ask): Promise<boolean> {
    const { name, file, digest, manifest, keepsState, locked, replaces } = agent
    const { words: mayDo, ...rules } = locked ?? {}
    const shared =
      keepsState.length === 0 ? '' : ` Every tool of ${keepsState.join(', ')} has the sandbox of all of them.`
    const answer = await ask({
      ...request(`agent-${digest}`, file, strongest(manifest.allowed_side_effects.map((each) => ({ class: each })))),
      input: { name, ...(mayDo && { mayDo }), ...(replaces && { replaces }), ...rules, manifest },
      inputDigest: digest,
      reason: replaces
        ? `The manifest "${name}" came with the repository and would replace ${replaces.file}.${shared}`
        : `The manifest "${name}" came with the repository and could do more than your own, or has no lock.${shared}`,
    })
    if (answer.decision === 'allow') await catalog.approve(project, name, digest)
    return answer.decision === 'allow'
  }

  /** Without a manifest of the user's own under the same name, there is nothing else to work by. */
  async function isIndispensable({ name }: UnapprovedAgent, defaultAgent: string): Promise<boolean> {
    return catalog.get(name, { project, defaultAgent }).then(
      () => false,
      (error) => error instanceof MatrixError && error.code === 'AGENT_UNAPPROVED',
    )
  }

  /** What is approved here is kept until it changes, so no shorter answer is offered. */
  function request(id: string, uri: string, side_effect_class: SideEffect) {
    const scopes: ApprovalScope[] = ['always']
    return { id, uri, side_effect_class, scopes, expiresAt: ports.world.clock.now() + PATIENCE_MS }
  }

  return {
    usable,
    keep: (server) => agreed.keep(server),
    async awaitAgents(agents, ask) {
      const { settings } = await config.resolve(project)
      for (const name of agents) {
        const found = await catalog.findUnapproved(name, { project, defaultAgent: settings.agent })
        if (!found || !(await isIndispensable(found, settings.agent))) continue
        // Denied by mistake, it is asked again when the user next sends something.
        if (!(await once(found.digest, found.name, () => askForAgent(found, ask)))) asked.delete(found.digest)
      }
    },
    async review(agents, ask) {
      try {
        const { settings, unapprovedServers } = await config.resolve(project)
        const have = new Set((await usable()).map(({ alias }) => alias))
        const found = agents.map((name) => catalog.findUnapproved(name, { project, defaultAgent: settings.agent }))
        const theirs = (await Promise.all(found)).filter((each) => each !== undefined)
        await Promise.all([
          ...theirs.map((each) => once(each.digest, each.name, () => askForAgent(each, ask))),
          ...unapprovedServers.map((each) => once(each.digest, each.name, () => askForEntry(each, ask))),
          ...Object.entries(settings.mcpServers)
            .filter(([alias]) => !have.has(alias))
            .map(([alias, given]) => reviewServer(alias, given, ask)),
        ])
      } catch (error) {
        ports.onProblem(error, 'settings')
      }
    },
  }
}

const order: readonly SideEffect[] = ['read', 'write', 'network', 'shell', 'chain']

export function strongest(classes: readonly { class: SideEffect }[]): SideEffect {
  return classes.map((each) => each.class).reduce((a, b) => (order.indexOf(a) < order.indexOf(b) ? b : a), 'read')
}
