import {
  findToolSettings,
  findUndeclared,
  formatToolUri,
  isOwnServer,
  limitsInSkill,
  ToolSettings,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { Tools } from './boot.ts'
import { DENIED_META } from './builtin/denied-path.ts'
import { limitOf, totalLimit } from './call-limit.ts'
import { type CallTarget, findCallTarget, noTarget } from './call-target.ts'
import type { CallProgress, RawResult } from './connection.ts'
import { checkGate, checkTool, leavesOutDenied, pinnedTool, policyName, type Verdict } from './gate.ts'
import type { HookOutcome } from './hook.ts'
import { isTooDeep } from './json-depth.ts'
import { hasPathRules } from './path-confinement.ts'
import type { Redactor } from './redactor.ts'
import type { ResolvedTool } from './registry.ts'
import { describeRefused } from './sandbox/asked-hosts.ts'
import { errorResult, shapeResult, type ToolResult } from './tool-result.ts'

/** A call as a model asks for it: by wire name, or as a plan does, by pinned URI. */
export type ToolCall = { name: string; input: unknown }

export type ExecuteOptions = {
  signal?: AbortSignal | undefined
  onProgress?: ((progress: CallProgress) => void) | undefined
  /** Replaces the tool's own limit. */
  timeoutMs?: number | undefined
  /** From when on hosts count as asked for by this call, in `performance.now()`; from its start when absent. */
  askedSince?: number | undefined
  /** Waited for once the call may be made, and before it is. What it answers is called when the call is over. */
  enter?: (() => Promise<() => void>) | undefined
}

type Input = Record<string, unknown>

/** The one way to call a tool: resolve, gate, box, call. Whatever happens, the answer is a value that a model can read. */
export async function executeTool(tools: Tools, call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
  try {
    const missing = tools.unavailable.get(call.name)
    if (missing) throw new MatrixError('SERVER_UNAVAILABLE', `"${missing.alias}" was left out: ${missing.reason}`)
    const tool = tools.registry.resolve(call.name)
    const input = readInput(call.input)
    const refusal = await passGate(tools, tool, input, options)
    // A question that nobody answers because the agent was stopped is no refusal.
    if (options.signal?.aborted) throw notRun()
    if (refusal) return refusal

    const { askedSince = performance.now() } = options
    const raw = await dispatch(tools, tool, input, options)
    await followUp(tools, tool, input, raw)
    const { spill, pool } = tools
    const shape = { redactor: pool.redactor, spill, isBuiltin: isOwnServer(tool.server) }
    const result = addNote(await shapeResult(raw, shape), noteOf(tools, tool, askedSince))
    return { ...result, reached: tools.serverOf(tool).takeReached(askedSince) }
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    error.message = tools.pool.redactor.text(error.message)
    tools.report({ type: 'call_failed', uri: call.name, error })
    return { ...errorResult(forModel(error)), error }
  }
}

/** Of what a command could not reach, its agent may have seen nothing but a failure. */
function noteOf(tools: Tools, tool: ResolvedTool, since: number): string | undefined {
  if (tool.tool.side_effect_class !== 'shell') return undefined
  const refused = tools.serverOf(tool).refusedSince(since)
  const mayAsk = tools.gate.grant.manifest.allowed_side_effects.includes('network')
  return refused.length === 0 ? undefined : describeRefused(refused, { mayAsk })
}

function addNote(result: ToolResult, note: string | undefined): ToolResult {
  return note === undefined ? result : { ...result, note, content: [...result.content, { type: 'text', text: note }] }
}

/** A copy of our own: what was gated and approved is what is sent, whatever the caller does to theirs meanwhile. */
function readInput(input: unknown): Input {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  if (!isObject && input !== undefined)
    throw new MatrixError('TOOL_FAILED', 'The arguments of a tool are a JSON object.', {
      hint: 'Send an object with one field for each argument.',
    })
  if (isTooDeep(input)) throw new MatrixError('TOOL_FAILED', 'The arguments are nested too deep.')
  return JSON.parse(JSON.stringify(input ?? {})) as Input
}

async function passGate(
  tools: Tools,
  tool: ResolvedTool,
  input: Input,
  { signal }: ExecuteOptions,
): Promise<ToolResult | undefined> {
  const { policy } = tools.gate.grant
  const first = checkTool(tool, tools.gate)
  if (first?.step === 'user') return deny(tools, tool, first)
  // What is refused anyway is refused before a user or a hook is asked.
  const target = first ? noTarget : await readTarget(tools, tool, input, signal)
  const blocked = policy?.hooks.preToolUse ? await askHooks(tools, tool, input, signal) : undefined
  const verdict = checkGate({ tool, target }, { ...tools.gate, blocked })
  if (verdict.verdict === 'deny') return deny(tools, tool, verdict, blocked)
  const flow = await tools.flow?.(tool, input)
  if (flow?.verdict === 'deny') return deny(tools, tool, { ...flow, verdict: 'deny', step: 'untrusted' })
  const reasons = [...(verdict.verdict === 'ask' ? [verdict.reason] : []), ...(flow ? [flow.reason] : [])]
  if (reasons.length === 0) return undefined

  const { agent } = tools.gate.grant.manifest
  const reason = await tools.approvals.ask({
    ...{ agent, tool, input, signal, reason: reasons.join(' ') },
    ...(flow && { led: flow.led }),
  })
  return reason === undefined ? undefined : deny(tools, tool, { verdict: 'deny', step: 'approval', reason })
}

/** Refuses arguments that the definition does not have, and reads what the others are aimed at. */
async function readTarget(
  tools: Tools,
  tool: ResolvedTool,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<CallTarget> {
  const { policy } = tools.gate.grant
  const settings = policy && findToolSettings(policy.toolsSettings, policyName(tool))
  const definition = tools.definitionOf(tool) ?? (await liveDefinition(tools, tool, signal))
  assertDeclared(definition, input)
  // Following links costs more than most calls do, so only those with something to hold them against are looked at.
  const limits = (tools.gate.skills?.() ?? []).map((skill) => limitsInSkill(skill, pinnedTool(tool)) ?? {})
  const hasPaths = hasPathRules(settings) || limits.some(({ paths }) => paths)
  const hasCommands =
    Boolean(settings?.allowedCommands ?? settings?.deniedCommands) || limits.some((each) => each.commands)
  if (!settings && !hasPaths && !hasCommands) return noTarget
  const known = { roles: tools.rolesOf(tool), schema: definition.inputSchema, isOwn: isOwnServer(tool.server) }
  const isConfined = tools.isConfined(tool)
  const target = await findCallTarget(input, tools.gate.base, known, {
    hasPathRule: hasPaths && !isConfined,
    hasCommandRule: hasCommands,
  })
  return isConfined ? { ...target, named: { ...target.named, paths: true } } : target
}

/** Of a server without a lock only the server itself can say it. */
function liveDefinition(tools: Tools, tool: ResolvedTool, signal: AbortSignal | undefined): Promise<ToolSurface> {
  const found = tools.serverOf(tool).use(async ({ tools: live }) => surfaceOf(live, tool))
  return signal ? untilAborted(found, signal, () => false) : found
}

function surfaceOf(live: ReadonlyMap<string, ToolSurface>, { server, tool }: ResolvedTool): ToolSurface {
  const surface = live.get(tool.name)
  if (surface) return surface
  throw new MatrixError('TOOL_DRIFT', `"${server.alias}" no longer has "${tool.name}".`)
}

async function askHooks(
  tools: Tools,
  tool: ResolvedTool,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const told = { tool_name: hookName(tool), tool_input: input }
  const outcomes = await tools.hooks.run({ trigger: 'preToolUse', tool: policyName(tool), input: told, signal })
  reportFailures(tools, outcomes)
  return outcomes.find(({ status }) => status === 'blocked')?.output
}

/** Hooks know tools of servers as `@server/tool`. */
function hookName(tool: ResolvedTool): string {
  const { server, tool: name } = policyName(tool)
  return server === undefined ? name : `@${server}/${name}`
}

function reportFailures(tools: Tools, outcomes: readonly HookOutcome[]): void {
  for (const { hook, status, output } of outcomes)
    if (status === 'failed') tools.report({ type: 'hook_failed', command: hook.command, output })
}

function deny(
  tools: Tools,
  tool: ResolvedTool,
  { step, reason }: Extract<Verdict, { verdict: 'deny' }>,
  words?: string,
): ToolResult {
  const uri = formatToolUri(tool.uri)
  tools.report({ type: 'call_denied', uri, step, reason: tools.pool.redactor.text(reason) })
  // What is allowed is not the model's to know; a hook's words are meant for it.
  const told = step === 'hook' && words ? `This call was blocked: ${words}` : 'This call was not allowed.'
  return {
    ...errorResult(new MatrixError('AUTHORIZATION_DENIED', tools.pool.redactor.text(told))),
    error: new MatrixError('AUTHORIZATION_DENIED', reason),
  }
}

async function dispatch(tools: Tools, tool: ResolvedTool, input: Input, options: ExecuteOptions): Promise<RawResult> {
  const leave = await options.enter?.().catch((error) => {
    throw options.signal?.aborted ? notRun() : error
  })
  try {
    return await send(tools, tool, input, options)
  } finally {
    leave?.()
  }
}

function send(tools: Tools, tool: ResolvedTool, input: Input, options: ExecuteOptions): Promise<RawResult> {
  const { signal, timeoutMs } = options
  const limit = timeoutMs === undefined ? limitOf(tool, tools.toolTimeoutMs) : totalLimit(timeoutMs)
  const isBuiltin = isOwnServer(tool.server)
  const onProgress = options.onProgress && redacted(options.onProgress, tools.pool.redactor)
  let answersWhenEnded = false
  const answer = tools.serverOf(tool).use(({ connection, tools: live }) => {
    const surface = surfaceOf(live, tool)
    // Without a lock it may be another definition than the one that was looked at first.
    if (!tools.definitionOf(tool)) assertDeclared(surface, input)
    answersWhenEnded = isBuiltin
    return connection.callTool(surface, input, { limit, signal, onProgress, meta: metaOf(tools, tool), isBuiltin })
  })
  return signal ? untilAborted(answer, signal, () => answersWhenEnded) : answer
}

/** The gate looks at arguments by their names, so one that the definition does not have could be looked at in place of another. */
function assertDeclared({ name, inputSchema }: ToolSurface, input: Input): void {
  const [undeclared] = findUndeclared(inputSchema, input)
  if (undeclared === undefined) return
  throw new MatrixError('TOOL_FAILED', `${name} has no argument ${JSON.stringify(undeclared.slice(0, 200))}.`, {
    hint: 'Send only arguments that the definition of the tool declares.',
  })
}

function redacted(listener: (progress: CallProgress) => void, redactor: Redactor): (progress: CallProgress) => void {
  return ({ message, ...rest }) =>
    listener({ ...rest, ...(message !== undefined && { message: redactor.text(message) }) })
}

/** Where MCP lets a client say something of its own about a call: the settings that are the tool's own affair. */
const SETTINGS_META = 'matrix/settings'

/** Our own tools that look through folders leave out what is denied to them; nobody else's are told what that is. */
function metaOf({ gate }: Tools, tool: ResolvedTool): Record<string, unknown> | undefined {
  const settings = findToolSettings(gate.grant.policy?.toolsSettings ?? {}, policyName(tool)) ?? {}
  if (!isOwnServer(tool.server)) {
    const own = Object.entries(settings).filter(([name]) => !Object.hasOwn(ToolSettings.shape, name))
    return own.length > 0 ? { [SETTINGS_META]: Object.fromEntries(own) } : undefined
  }
  if (!leavesOutDenied(tool)) return undefined
  const { deniedPaths = [] } = settings
  return deniedPaths.length > 0 ? { [DENIED_META]: { paths: deniedPaths, base: gate.base } } : undefined
}

/** A caller that has given up does not wait for a server to start; the server keeps starting for the others. */
function untilAborted<Answer>(
  answer: Promise<Answer>,
  signal: AbortSignal,
  answersWhenEnded: () => boolean,
): Promise<Answer> {
  return new Promise((done, fail) => {
    const give = () => {
      if (!answersWhenEnded()) fail(new MatrixError('TOOL_CANCELLED', 'The call was cancelled.'))
    }
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    answer.then(done, fail).finally(() => signal.removeEventListener('abort', give))
  })
}

async function followUp(tools: Tools, tool: ResolvedTool, input: Input, raw: RawResult): Promise<void> {
  if (!tools.gate.grant.policy?.hooks.postToolUse) return
  const told = {
    tool_name: hookName(tool),
    tool_input: input,
    tool_response: { success: !raw.isError, result: raw.content },
  }
  reportFailures(tools, await tools.hooks.run({ trigger: 'postToolUse', tool: policyName(tool), input: told }))
}

function notRun(): MatrixError {
  return new MatrixError('TOOL_CANCELLED', 'The agent was stopped before this call ran. It had no effect.')
}

const forTheModel = new Set(['TOOL_UNKNOWN', 'TOOL_AMBIGUOUS', 'ErrUnpinnedTool', 'URI_MALFORMED'])
const ofTheCall = new Set(['TOOL_TIMEOUT', 'TOOL_CANCELLED', 'TOOL_FAILED'])

/** A server that drifted would speak to the model through the words of the difference; those are for people. */
function forModel(error: MatrixError): MatrixError {
  if (forTheModel.has(error.code) || ofTheCall.has(error.code)) return error
  if (error.code === 'TOOL_DRIFT')
    return new MatrixError('TOOL_DRIFT', 'The server of this tool changed and was taken out of use.', {
      hint: 'Go on without it; a person has to look at it.',
    })
  return new MatrixError('SERVER_UNAVAILABLE', 'The server of this tool is not available.')
}
