import {
  formatToolUri,
  type Grant,
  isOwnServer,
  type Lock,
  type LockedServer,
  type Manifest,
  type Policy,
  type Server,
  type ToolSurface,
} from '@matrix/manifest'
import { builtinTools, MatrixError, type Origin, type ToolSpec } from '@matrix/protocol'
import type { Problem, ServerStatus, ToolsView } from '@matrix/protocol/http'
import type { ToolExecResult } from '@matrix/provider-loop'
import {
  type ApprovalMemory,
  agreeToSurface,
  assertWithin,
  bootTools,
  type CallProgress,
  checkGate,
  executeTool,
  giveTree,
  isOwnToolAllowed,
  type LockFiles,
  noTarget,
  type PoolEvent,
  type ResolvedTool,
  resolveIdentity,
  type Sandbox,
  type ServerPool,
  serverIdentity,
  type ToolResult,
  type Tools,
} from '@matrix/tool-manager'
import * as z from 'zod'
import { agentPrompt, formatAgentContext, formatHookOutput } from '../agent-context.ts'
import { addServers } from '../config-servers.ts'
import type { DefinitionWords, Told } from '../definition-words.ts'
import { problemOf } from '../halt.ts'
import { originOfCall, type TrustedSources } from '../origin.ts'
import { resolveAgentNames } from '../project-context.ts'
import { readResources } from '../resources.ts'
import type { ServerApprovals } from '../server-approval.ts'
import { viewDrift } from '../server-drift.ts'
import type { AgentTools, AgentToolsRequest, ToolCallContext, ToolHost } from '../tool-host.ts'
import type { Files } from '../world.ts'
import { spillTo } from './output-folder.ts'
import { forwardPort } from './port-forward.ts'
import { ProcessState, watchProcess } from './process-watch.ts'

/** A manifest that was found, checked and may be used. */
export type LoadedManifest = {
  name: string
  file: string | null
  /** Where relative files of the manifest start. */
  base?: string | undefined
  /** Where the files of its hooks are kept. */
  hookRoot?: string | undefined
  manifest: Manifest
  lock?: Lock | undefined
  lockFiles?: LockFiles | undefined
  policy?: Policy | undefined
}

export type SandboxedToolsOptions = {
  pool: ServerPool
  sandbox: Sandbox
  files: Files
  /** The user's home, where resources below `~` are. */
  home: string
  /** Where Matrix keeps what is the user's: nothing of it becomes a resource. */
  dataDirectory: string
  /** Finds the manifest of an agent by name. */
  loadManifest(name: string): Promise<LoadedManifest>
  /** Keeps a lock that a person has agreed to in place of the one that this manifest has. */
  relock(name: string, lock: Lock): Promise<void>
  /** The manifests of agents for which nothing is said. */
  defaults(): Promise<{ root: string; child: string }>
  /** What the user denies to every agent. */
  deny(): Promise<readonly string[]>
  /** Hosts and servers whose content the user trusts. */
  trusted(): Promise<TrustedSources>
  always: ApprovalMemory
  words: DefinitionWords
  /** How long a call may take without progress, if the user says so. */
  toolTimeoutMs(): Promise<number | undefined>
  /** The servers of the settings, as far as somebody has agreed to them. */
  servers?: ServerApprovals | undefined
  /** The digests of the servers that Matrix ships. */
  shipped: ReadonlySet<string>
}

type ServerState = {
  state: ServerStatus['state']
  problem: Problem | null
  /** What the server advertised when it was last found to be another than was agreed to. */
  found?: readonly ToolSurface[] | undefined
}

type ServerStates = {
  observe(event: PoolEvent): void
  of(server: Server, locked: LockedServer | undefined): ServerState
}

/** Remembers what became of each server, for those who look. One pool is shared by all agents, so states go by server and lock. */
export function createServerStates(): ServerStates {
  const states = new Map<string, ServerState>()
  return {
    observe(event) {
      if (!('identity' in event)) return
      const { identity } = event
      const found = states.get(identity)?.found
      if (event.type === 'server_started') states.set(identity, { state: 'verified', problem: null })
      if (event.type === 'server_checked' && event.verification.drift.length > 0)
        states.set(identity, { state: 'quarantined', problem: null, found: event.found })
      if (event.type === 'server_unavailable')
        states.set(identity, { state: 'unavailable', problem: problemOf(event.error) })
      if (event.type === 'server_quarantined')
        states.set(identity, { state: 'quarantined', problem: problemOf(event.error), found })
    },
    of: (server, locked) => states.get(serverIdentity(server, locked)) ?? { state: 'unchecked', problem: null },
  }
}

/** Tools as manifests allow them: verified, gated, boxed. */
export function createSandboxedTools(options: SandboxedToolsOptions, states: ServerStates): ToolHost {
  async function namesOf(names: AgentToolsRequest['agents']): Promise<string[]> {
    return resolveAgentNames(names, await options.defaults())
  }

  async function grantsOf(names: AgentToolsRequest['agents']): Promise<[LoadedManifest, ...LoadedManifest[]]> {
    const resolved = await namesOf(names)
    const found = new Map<string, LoadedManifest>()
    for (const name of new Set(resolved)) found.set(name, await options.loadManifest(name))
    // A server goes to everybody on the way up or to nobody: a child must not have what its parent has not.
    const taken = new Set([...found.values()].flatMap(({ manifest }) => manifest.servers.map(({ alias }) => alias)))
    const agreed = ((await options.servers?.usable()) ?? []).filter(({ alias }) => !taken.has(alias))
    const loaded = new Map([...found].map(([name, manifest]) => [name, addServers(manifest, agreed)]))
    return resolved.map((name) => loaded.get(name)) as [LoadedManifest, ...LoadedManifest[]]
  }

  return {
    shipped: options.shipped,
    adopt: (worktree) => adoptWorktree(options.sandbox, worktree),
    forward: (request) => forwardPort(options.pool, request),
    async checkAgent(agents) {
      try {
        const [own, ...above] = await grantsOf(agents)
        assertWithin(grantOf(own), grantsBeyond(own, above))
      } catch (error) {
        if (!(error instanceof MatrixError && error.code === 'AGENT_UNAPPROVED')) throw error
      }
    },
    async grantOf(agents) {
      const [own] = await grantsOf(agents)
      return grantOf(own)
    },
    async skillsOf(agents) {
      return skillsIn(await grantsOf(agents))
    },
    async review(agents, ask) {
      await options.servers?.review([...new Set(await namesOf(agents))], ask)
    },
    async awaitAgents(agents, ask) {
      await options.servers?.awaitAgents([...new Set(await namesOf(agents))], ask)
    },
    async approveDrift({ agents, alias, surface }) {
      const [name = ''] = await namesOf(agents)
      const { manifest, lock: own } = await options.loadManifest(name)
      const isOwn = manifest.servers.some((server) => server.alias === alias)
      const agreed = isOwn ? undefined : (await options.servers?.usable())?.find((each) => each.alias === alias)
      const lock = isOwn ? own : agreed?.lock
      const server = lock?.manifest.servers.find((each) => each.alias === alias)
      const found = lock && server && states.of(server, lock.servers[alias]).found
      if (!lock || !found)
        throw new MatrixError('APPROVAL_UNKNOWN', `"${alias}" has nothing that somebody could agree to.`, {
          hint: 'Only a server with a lock can be agreed to, once it was started and found to be another.',
        })
      const next = agreeToSurface(lock, alias, found, surface)
      if (agreed) await options.servers?.keep({ ...agreed, lock: next })
      else await options.relock(name, next)
    },
    async open(request) {
      const [own, ...above] = await grantsOf(request.agents)
      const deny = await options.deny()
      const tools = bootTools({
        pool: options.pool,
        manifest: own.manifest,
        lock: own.lock,
        lockFiles: own.lockFiles,
        policy: own.policy,
        above: grantsBeyond(own, above),
        deny,
        skills: () => request.skills?.(skillsIn([own, ...above])) ?? [],
        worktree: request.worktree,
        base: own.base,
        hookRoot: own.hookRoot,
        approve: request.approve,
        flow: request.flow,
        always: options.always,
        toolTimeoutMs: await options.toolTimeoutMs(),
        spill: own.manifest.servers.some(isOwnServer) ? spillTo(request.worktree) : undefined,
      })
      return openAgentTools(tools, own, request, {
        states,
        files: options.files,
        home: options.home,
        dataDirectory: options.dataDirectory,
        isBoxing: options.sandbox.isBoxing,
        sandbox: options.sandbox,
        trusted: options.trusted,
        words: options.words,
      })
    },
  }
}

/** Makes the files of a worktree usable by what runs in a sandbox, which is another user where Matrix is root. */
export async function adoptWorktree({ isBoxing }: Sandbox, worktree: string): Promise<void> {
  const identity = resolveIdentity()
  if (identity && isBoxing) giveTree(worktree, identity)
}

/** What all those above may do, but for those who work by the same manifest. */
function grantsBeyond(own: LoadedManifest, above: readonly LoadedManifest[]): Grant[] {
  return [...new Set(above)].filter((each) => each !== own).map(grantOf)
}

function policyOf({ policy, lock }: LoadedManifest): Policy | undefined {
  return policy ?? lock?.policy
}

function skillsIn(loaded: readonly LoadedManifest[]): string[] {
  return [...new Set(loaded.flatMap(({ manifest }) => manifest.skills ?? []))]
}

function grantOf({ manifest, lock, policy }: LoadedManifest): Grant {
  return { manifest, policy: policy ?? lock?.policy }
}

/** What the built-in shell says of a command that it leaves running, for programs. */
const Started = z.object({ id: z.string() })

type Surroundings = {
  states: ServerStates
  files: Files
  home: string
  dataDirectory: string
  isBoxing: boolean
  sandbox: Sandbox
  trusted(): Promise<TrustedSources>
  words: DefinitionWords
}

function openAgentTools(
  tools: Tools,
  loaded: LoadedManifest,
  request: AgentToolsRequest,
  around: Surroundings,
): AgentTools {
  const calls = new Map<string, number>()
  /** When each background command began, by the id that the shell gave it. */
  const begun = new Map<string, number>()
  const closing = new AbortController()

  async function call(name: string, input: Record<string, unknown>, context: ToolCallContext): Promise<ToolExecResult> {
    calls.set(name, (calls.get(name) ?? 0) + 1)
    const startedAt = performance.now()
    const result = await executeTool(
      tools,
      { name, input },
      {
        signal: context.signal,
        enter: context.enter,
        askedSince: name === builtinTools.background ? begun.get(String(input.id)) : undefined,
        onProgress: (progress) => context.onProgress?.(linesOf(progress)),
      },
    )
    const { content, structured, isError } = result
    const started = name === builtinTools.bash && input.background === true ? Started.safeParse(structured) : undefined
    const answer = { content, isError, origin: await originOf(name, result) }
    if (!started?.success) return answer
    const processId = started.data.id
    begun.set(processId, startedAt)
    watch(context.callId, processId, String(input.command))
    return { ...answer, background: { processId } }
  }

  function told(spec: ToolSpec): Told {
    const { uri, tool } = tools.registry.resolve(spec.name)
    return { spec, uri: formatToolUri(uri), sideEffect: tool.side_effect_class }
  }

  /** Resources are read anew each time; the hooks at the start have run once, and what they said is kept. */
  async function context(signal?: AbortSignal): Promise<string> {
    const policy = policyOf(loaded)
    const mayRead = loaded.manifest.allowed_side_effects.includes('read')
    const base = { cwd: request.worktree, home: around.home, dataDirectory: around.dataDirectory }
    const resources = policy && mayRead ? await readResources(around.files, policy, base) : []
    return formatAgentContext({
      resources,
      spoken: await speak('agentSpawn', { signal }),
      unavailable: loaded.lock?.unavailable,
    })
  }

  /** Tools are closed only after the loop has ended, which may be waiting for these hooks. */
  async function speak(
    trigger: 'agentSpawn' | 'userPromptSubmit' | 'stop',
    { prompt, signal }: { prompt?: string | undefined; signal: AbortSignal | undefined },
  ): Promise<string[]> {
    const input = prompt === undefined ? {} : { prompt }
    const either = AbortSignal.any([closing.signal, ...(signal ? [signal] : [])])
    const outcomes = await tools.hooks.run({ trigger, input, signal: either })
    for (const { hook, status, output } of outcomes)
      if (status !== 'ok') tools.report({ type: 'hook_failed', command: hook.command, output })
    return outcomes.flatMap(({ status, output }) => (status === 'ok' ? [tools.pool.redactor.text(output)] : []))
  }

  async function originOf(name: string, result: ToolResult): Promise<Origin> {
    if (tools.unavailable.has(name)) return { source: 'matrix', trusted: true, name }
    const tool = tools.registry.resolve(name)
    const isAtHome = isOwnServer(tool.server) && !result.reached?.length
    return originOfCall(tool, result, isAtHome ? [] : await around.trusted())
  }

  /** Follows a background command through the same tool that the agent would use. */
  function watch(callId: string, processId: string, command: string): void {
    const ask = async (action: 'status' | 'kill' | 'await', timeoutMs = 30_000): Promise<ProcessState> => {
      const input = { action, id: processId, ...(action === 'await' && { timeout_ms: timeoutMs }) }
      const askedSince = begun.get(processId)
      const options = { signal: closing.signal, timeoutMs: timeoutMs + 30_000, askedSince }
      const result = await executeTool(tools, { name: builtinTools.background, input }, options)
      const { content, structured, note } = result
      const origin = await originOf(builtinTools.background, result)
      const state = ProcessState.safeParse(structured)
      if (state.success)
        return { ...state.data, output: [state.data.output, ...(note ? [note] : [])].join('\n'), origin }
      // Whoever could tell has ended, and the command with it.
      return {
        isRunning: false,
        exitCode: null,
        output: content.map((part) => ('text' in part ? part.text : '')).join(),
      }
    }
    const tellEnd = request.onBackgroundStart(callId, {
      processId,
      command,
      read: async () => (await ask('status')).output,
      kill: async () => void (await ask('kill')),
    })
    const onEnd = ({ exitCode, output, origin }: ProcessState) =>
      tellEnd({ processId, command, exitCode, output, origin })
    void watchProcess(() => ask('await', 600_000), { signal: closing.signal, onEnd })
  }

  return {
    async specs() {
      const specs = await tools.specs()
      // The words of tools that are missing are Matrix's own.
      const [missing, known] = [true, false].map((is) => specs.filter(({ name }) => tools.unavailable.has(name) === is))
      return [...around.words.tellable((known ?? []).map(told), request.ask), ...(missing ?? [])]
    },
    call,
    allows: (tool) => isOwnToolAllowed(tool, tools.gate),
    uriOf: (name) => (tools.unavailable.has(name) ? undefined : formatToolUri(tools.registry.resolve(name).uri)),
    // Whoever looks after a command in the background runs none.
    isHeavy: (name) =>
      name !== builtinTools.background &&
      !tools.unavailable.has(name) &&
      tools.registry.resolve(name).tool.side_effect_class === 'shell',
    prompt: agentPrompt(policyOf(loaded)),
    context,
    async runHooks(trigger, told) {
      const spoken = await speak(trigger, told)
      return trigger === 'stop' ? '' : formatHookOutput(spoken, 'say to this message')
    },
    park: () => tools.park(),
    async close() {
      closing.abort()
      await tools.close()
    },
    view: async () => viewTools(tools, loaded, calls, around),
  }
}

/** Our own shell reports whole lines; other servers how far they are, with or without words. */
function linesOf({ progress, total, message }: CallProgress): string {
  if (message?.endsWith('\n')) return message
  const share = total === undefined ? '' : `${progress} of ${total}`
  return `${[message, share].filter(Boolean).join(' · ') || progress}\n`
}

function viewTools(
  tools: Tools,
  { name, file, manifest, lock }: LoadedManifest,
  calls: ReadonlyMap<string, number>,
  { states, isBoxing, sandbox }: Surroundings,
): ToolsView {
  return {
    agent: name,
    manifestFile: file,
    allowedSideEffects: [...manifest.allowed_side_effects],
    sandbox: { isActive: isBoxing, reason: sandbox.status.available ? null : sandbox.status.reason },
    servers: manifest.servers.map((server): ServerStatus => {
      const locked = lock && Object.hasOwn(lock.servers, server.alias) ? lock.servers[server.alias] : undefined
      const { state, problem, found } = states.of(server, locked)
      return {
        alias: server.alias,
        transport: server.transport,
        version: server.version,
        digest: server.package_digest ?? null,
        state: state === 'quarantined' && problem?.code === 'TOOL_DRIFT' ? 'drifted' : state,
        isLocked: locked !== undefined,
        isRunning: tools.isRunning(server.alias),
        isSandboxed: server.transport === 'stdio' && isBoxing,
        problem,
        drift: problem?.code === 'TOOL_DRIFT' ? problem.message : null,
        drifted: found ? viewDrift(server, found, { lock, redactor: tools.pool.redactor }) : null,
        tools: tools.registry.tools
          .filter((tool) => tool.server.alias === server.alias)
          .map((tool) => ({
            wireName: tool.wireName,
            uri: formatToolUri(tool.uri),
            name: tool.tool.name,
            description: tool.tool.description ?? '',
            sideEffect: tool.tool.side_effect_class,
            gate: gateOf(tools, tool),
            calls: calls.get(tool.wireName) ?? 0,
          })),
      }
    }),
  }
}

function gateOf(tools: Tools, tool: ResolvedTool): 'allow' | 'ask' | 'deny' {
  return checkGate({ tool, target: noTarget }, tools.gate).verdict
}
