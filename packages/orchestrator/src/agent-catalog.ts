import {
  agentNameOf,
  type DetectedDocument,
  describeLock,
  detectDocument,
  digestValue,
  type Finding,
  type Format,
  formatDefinitionFinding,
  type Lock,
  parseAgentUri,
  verifyDocument,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { AgentProposalView, AgentToAdd, AgentView, NewAgentFile } from '@matrix/protocol/http'
import { type AgentProposal, type LockFiles, soundLock } from '@matrix/tool-manager'
import type { ConfigProject } from './config/config.ts'
import { problemOf } from './halt.ts'
import type { ListedAgent, ManifestCatalog, NewAgent } from './manifest-catalog.ts'

/** Everything about an agent pinned, with what is kept beside its lock. */
export type PinnedAgent = AgentProposal & { lockFiles: LockFiles } & Pick<NewAgent, 'keepHookFiles'>

export type AgentCatalogPorts = {
  catalog: Pick<ManifestCatalog, 'list' | 'install'>
  /** Starts the servers of an agent in a sandbox to see what they have. Without a folder, it has no files beside it. */
  pin(
    document: DetectedDocument,
    options: { fileName: string; folder: string | undefined; agent: string | undefined },
  ): Promise<PinnedAgent>
  /** The agent of the settings, which bounds what a repository may use unasked. */
  defaultAgent(project: ConfigProject | undefined): Promise<string>
}

/** Agents by name: what there is, and how one more comes in. */
export type AgentCatalog = {
  list(project: ConfigProject | undefined): Promise<AgentView[]>
  propose(file: NewAgentFile, project: ConfigProject | undefined): Promise<AgentProposalView>
  add(request: AgentToAdd, project: ConfigProject | undefined): Promise<AgentView>
}

/** As many as anybody looks at side by side; whoever waits longer is shown the agent again. */
const MAX_HELD = 20

export function openAgentCatalog({ catalog, pin, defaultAgent }: AgentCatalogPorts): AgentCatalog {
  const held = new Map<string, { name: string; pinned: PinnedAgent }>()

  async function list(project: ConfigProject | undefined): Promise<AgentView[]> {
    const listed = await catalog.list({ project, defaultAgent: await defaultAgent(project) })
    return listed.map(viewAgent)
  }

  return {
    list,
    async propose({ fileName, content, folder, name }, project) {
      const bytes = Buffer.from(content, 'base64')
      const document = await detectDocument(bytes, { fileName })
      const findings = await checkFile(bytes, document, fileName)
      const pinned = await pin(document, {
        fileName,
        folder: folder ?? project?.path,
        agent: name ?? nameFor(document, fileName),
      })
      const lock = soundLock(pinned.lock)
      const digest = digestValue(lock)
      const agentName = parseAgentUri(lock.manifest.agent).name
      for (const oldest of [...held.keys()].slice(0, Math.max(0, held.size - MAX_HELD + 1))) held.delete(oldest)
      held.set(digest, { name: agentName, pinned })
      const others = (await list(project)).filter((each) => each.name === agentName)
      return { ...viewProposal(pinned, findings), digest, name: agentName, replaces: others }
    },
    async add({ digest, skip = false, replace = false }, project) {
      const found = held.get(digest)
      if (!found)
        throw new MatrixError('APPROVAL_UNKNOWN', 'This agent is no longer held for approval.', {
          hint: 'Run matrix agent add again, and approve what is shown then.',
        })
      const { name, pinned } = found
      const [missing] = pinned.leftOut
      if (missing && !skip) throw leftOutError(pinned)
      const { lock, lockFiles, keepHookFiles } = pinned
      await catalog.install({ name, lock, lockFiles, keepHookFiles }, { project, replace })
      held.delete(digest)
      const source = project ? 'project' : 'user'
      const added = (await list(project)).find((each) => each.name === name && each.source === source)
      if (added) return added
      throw new MatrixError('AGENT_UNKNOWN', `The agent "${name}" was written, but is not found.`)
    },
  }
}

/** A file that has errors of its own is refused before a server is started; of a list of servers, what is left out is said. */
async function checkFile(
  bytes: Uint8Array,
  { value, format, findings }: DetectedDocument,
  fileName: string,
): Promise<Finding[]> {
  if (value === undefined) throw refusal(fileName, findings)
  if (format === undefined) throw refusal(fileName, (await verifyDocument(bytes, { fileName })).findings)
  // A draft of Matrix has gaps that are filled in here, and its lock is checked whole.
  if (format === 'matrix') return findings
  const report = await verifyDocument(bytes, { fileName })
  // Of a list of servers what is wrong is taken out or left out: a secret becomes a reference.
  const isWhole = format === 'agent-format' || format === 'gpars' || format === 'lock'
  if (isWhole && report.findings.some(({ severity }) => severity === 'error')) throw refusal(fileName, report.findings)
  return report.findings
}

function refusal(fileName: string, findings: readonly Finding[]): MatrixError {
  const errors = findings.filter(({ severity }) => severity === 'error')
  const [first = findings[0], ...more] = errors
  const others = more.length > 0 ? ` (and ${more.length} more)` : ''
  const place = first ? `:${first.line}:${first.column}: ${first.message}` : ' cannot be read.'
  return new MatrixError('DOCUMENT_INVALID', `${fileName}${place}${others}`, { ...(first && { hint: first.fix }) })
}

/** Lists of servers have no name of their own. */
function nameFor({ format }: DetectedDocument, fileName: string): string | undefined {
  return format !== undefined && nameless.includes(format) ? agentNameOf(fileName) : undefined
}

const nameless: readonly Format[] = ['mcp-client', 'vscode', 'zed', 'opencode', 'codex']

function leftOutError({ leftOut }: PinnedAgent): MatrixError {
  const reasons = leftOut.map(({ alias, error }) => `${alias}: ${error.message}`).join(' ')
  const one = leftOut[0]?.error
  return new MatrixError(one?.code ?? 'SERVER_UNAVAILABLE', `Not every server can be used. ${reasons}`, {
    hint: 'Install what is missing, or add the agent without these servers with --skip.',
  })
}

function viewProposal(
  { lock, classes, notes, findings: suspicions, leftOut }: PinnedAgent,
  findings: readonly Finding[],
): Omit<AgentProposalView, 'digest' | 'name' | 'replaces'> {
  return {
    description: lock.manifest.description ?? '',
    format: lock.source.format,
    words: describeLock(lock),
    servers: lock.manifest.servers.map(({ alias }) => ({
      alias,
      from: originOf(lock, alias),
      tools: classes
        .filter((each) => each.alias === alias)
        .map((each) => ({ name: each.tool, sideEffect: each.class, reason: each.reason })),
    })),
    leftOut: leftOut.map(({ alias, error }) => ({
      alias,
      reason: error.message,
      hint: error.hint,
      code: error.code,
    })),
    findings: findings.map(({ severity, rule, message, line, column }) => ({ severity, rule, message, line, column })),
    suspicions: suspicions.map((each) => `${each.server}/${formatDefinitionFinding(each)}`),
    notes,
  }
}

function originOf({ servers }: Lock, alias: string): string {
  const locked = Object.hasOwn(servers, alias) ? servers[alias] : undefined
  if (!locked) return ''
  if (locked.transport === 'http') return locked.endpoint
  const { ecosystem, name, version } = locked.package
  return ecosystem === 'file' ? name : `${ecosystem} ${name}@${version}`
}

const sources = { repository: 'project', user: 'user', shipped: 'shipped' } as const

function viewAgent(listed: ListedAgent): AgentView {
  const { name, source, file, isInForce } = listed
  const about = { name, source: sources[source], file, isInForce }
  if ('problem' in listed) {
    const empty = { description: '', isLocked: false, allowedSideEffects: [], servers: [], leftOut: [] }
    return { ...about, ...empty, state: 'damaged', problem: problemOf(listed.problem) }
  }
  const { manifest, lock } = listed.agent
  return {
    ...about,
    description: manifest.description ?? '',
    state: listed.isApproved ? 'approved' : 'unapproved',
    isLocked: lock !== undefined,
    allowedSideEffects: [...manifest.allowed_side_effects],
    servers: manifest.servers.map(({ alias }) => alias),
    leftOut: Object.entries(lock?.unavailable ?? {}).map(([alias, { reason }]) => ({ alias, reason })),
    problem: null,
  }
}
