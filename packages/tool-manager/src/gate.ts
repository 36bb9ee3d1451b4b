import {
  findToolSettings,
  formatToolUri,
  type Grant,
  isHostDenied,
  isOwnServer,
  isOwnToolInSkill,
  isPathDenied,
  isToolAllowed,
  isToolVisible,
  limitsInSkill,
  matchesHostList,
  matchesPathList,
  mayHoldDenied,
  type PathBase,
  type PinnedTool,
  type SideEffect,
  type SkillLimit,
  type ToolName,
  type ToolSettings,
} from '@matrix/manifest'
import { BUILTIN_ALIAS } from '@matrix/protocol'
import { type CallTarget, noTarget } from './call-target.ts'
import type { ResolvedTool } from './registry.ts'
import { isShellAllowed, isShellDenied } from './shell/command-rule.ts'

/** `reason` is for the person who reads the log; the model only learns that it was denied. */
export type Verdict =
  | { verdict: 'allow' }
  | { verdict: 'ask'; reason: string }
  | { verdict: 'deny'; step: GateStep; reason: string }

/** In the order in which they are asked. */
export type GateStep = 'user' | 'hook' | 'skill' | 'side-effects' | 'settings' | 'untrusted' | 'approval'

export type GateCall = { tool: ResolvedTool; target: CallTarget }

export type GateRules = {
  grant: Grant
  /** Patterns of the user's own that no manifest and no approval overrides. */
  deny?: readonly string[] | undefined
  /** The skills that are attached right now: each of them has to allow the call. */
  skills?: (() => readonly SkillLimit[]) | undefined
  /** Why a hook blocked this call, if one did. */
  blocked?: string | undefined
  base: PathBase
}

const allow: Verdict = { verdict: 'allow' }

/** Decides, and does nothing else: no throw, no prompt, no call. The first step that has an answer gives it. */
export function checkGate(call: GateCall, rules: GateRules): Verdict {
  for (const step of steps) {
    const verdict = step(call, rules)
    if (verdict) return verdict
  }
  return allow
}

type Step = (call: GateCall, rules: GateRules) => Verdict | undefined

const steps: readonly Step[] = [
  checkUser,
  checkHook,
  checkSkills,
  checkSkillLimits,
  checkSideEffects,
  checkVisible,
  checkDenials,
  checkApproval,
]

/** Whether a tool is denied whatever it is called with. */
export function checkTool(tool: ResolvedTool, rules: GateRules): Extract<Verdict, { verdict: 'deny' }> | undefined {
  for (const step of [checkUser, checkSkills, checkSideEffects, checkVisible]) {
    const verdict = step({ tool, target: noTarget }, rules)
    if (verdict?.verdict === 'deny') return verdict
  }
  return undefined
}

/** A tool that no manifest lists, because Matrix itself provides it. Without a class it does nothing that classes speak of. */
export type OwnTool = { name: string; side_effect_class?: SideEffect | undefined }

/** The user's denials, the side effects of the manifest and attached skills hold for these too. */
export function isOwnToolAllowed(
  { name, side_effect_class: needs }: OwnTool,
  { grant, deny = [], skills = () => [] }: GateRules,
): boolean {
  if (isDenied(deny, { server: undefined, tool: name })) return false
  if (needs === undefined) return true
  if (!grant.manifest.allowed_side_effects.includes(needs)) return false
  const own = grant.manifest.servers.find(isOwnServer)
  return skills().every((skill) => isOwnToolInSkill(skill, { name, sideEffect: needs, version: own?.version }))
}

/** Whether the user denies a tool, by a pattern of policies or by the name that stands in conversations. */
export function isDenied(deny: readonly string[], tool: ToolName): boolean {
  return isToolAllowed(
    deny.map((pattern) => pattern.replace(/^mcp__(.+?)__/, '@$1/')),
    tool,
  )
}

/** Policies know the tools of the built-in server by their bare names. */
export function policyName({ server, tool }: ResolvedTool): ToolName {
  return { server: server.alias === BUILTIN_ALIAS ? undefined : server.alias, tool: tool.name }
}

/** How far other tools go into a folder is not known here, so these are the only ones that may be aimed above what is denied. */
export function leavesOutDenied({ server, tool }: ResolvedTool): boolean {
  return server.alias === BUILTIN_ALIAS && (tool.name === 'search' || tool.name === 'list_files')
}

function checkUser({ tool }: GateCall, { deny = [] }: GateRules): Verdict | undefined {
  if (!isDenied(deny, policyName(tool))) return undefined
  return denied('user', `The user denies ${nameOf(tool)}.`)
}

function checkHook(_: GateCall, { blocked }: GateRules): Verdict | undefined {
  return blocked === undefined ? undefined : denied('hook', `A hook blocked the call: ${blocked}`)
}

function checkSkills({ tool }: GateCall, { skills = () => [] }: GateRules): Verdict | undefined {
  const skill = skills().find((each) => !limitsInSkill(each, pinnedTool(tool)))
  return skill && denied('skill', `The skill "${skill.name}" does not list ${nameOf(tool)}.`)
}

function checkSkillLimits({ tool, target }: GateCall, { skills = () => [], base }: GateRules): Verdict | undefined {
  const skill = skills().find((each) => {
    const { commands, paths } = limitsInSkill(each, pinnedTool(tool)) ?? {}
    const limits = { ...(commands && { allowedCommands: commands }), ...(paths && { allowedPaths: paths }) }
    return hasAllowList(limits) && !isListed(limits, target, base)
  })
  return skill && denied('skill', `The skill "${skill.name}" does not allow ${nameOf(tool)} with these arguments.`)
}

/** Under both names that a pin can have: the version of its server and the digest of the package. */
export function pinnedTool(tool: ResolvedTool): PinnedTool {
  const { package_digest: digest } = tool.server
  return { name: policyName(tool), uris: digest ? [tool.uri, { ...tool.uri, pin: digest }] : [tool.uri] }
}

function checkSideEffects({ tool }: GateCall, { grant }: GateRules): Verdict | undefined {
  const { side_effect_class: needs } = tool.tool
  const { allowed_side_effects: may, agent } = grant.manifest
  if (needs === 'chain') return denied('side-effects', `${nameOf(tool)} is a chain tool, and those never run.`)
  if (may.includes(needs)) return undefined
  return denied('side-effects', `${nameOf(tool)} needs "${needs}"; ${agent} may ${may.join(', ') || 'do nothing'}.`)
}

function checkVisible({ tool }: GateCall, { grant: { policy } }: GateRules): Verdict | undefined {
  if (!policy || isToolVisible(policy.tools, policyName(tool))) return undefined
  return denied('settings', `${nameOf(tool)} is not among the agent's tools.`)
}

function checkDenials({ tool, target }: GateCall, { grant: { policy }, base }: GateRules): Verdict | undefined {
  const settings = policy && findToolSettings(policy.toolsSettings, policyName(tool))
  if (!settings) return undefined
  const { deniedPaths = [], deniedCommands = [], deniedHosts = [] } = settings
  const aims = deniedPaths.length > 0 ? [...target.paths, ...target.others] : []
  const path = aims.find((each) => isPathDenied(deniedPaths, each, base))
  if (path !== undefined) return denied('settings', `${nameOf(tool)} may not touch ${path}.`)
  const folder = leavesOutDenied(tool)
    ? undefined
    : target.folders.find((each) => mayHoldDenied(deniedPaths, each, base))
  if (folder !== undefined)
    return denied('settings', `${nameOf(tool)} may not touch something that may lie in ${folder}.`)
  if (deniedCommands.length > 0 && target.commands.some((each) => isShellDenied(deniedCommands, each)))
    return denied('settings', `${nameOf(tool)} may not run this command.`)
  const host = deniedHosts.length > 0 ? target.hosts.find((each) => isHostDenied(deniedHosts, each)) : undefined
  return host === undefined ? undefined : denied('settings', `${nameOf(tool)} may not reach ${host}.`)
}

function checkApproval(call: GateCall, { grant: { policy }, base }: GateRules): Verdict | undefined {
  if (!policy) return allow
  const { tool, target } = call
  const name = policyName(tool)
  const settings = findToolSettings(policy.toolsSettings, name) ?? {}
  const undecided = findUndecided(settings, target)
  if (undecided !== undefined) return askOrDeny(settings, `${nameOf(tool)}: ${undecided}`)
  if (isToolAllowed(policy.allowedTools, name) && !hasAllowList(settings)) return allow
  if (isListed(settings, target, base)) return allow
  if (!hasAllowList(settings) && settings.autoAllowReadonly && tool.tool.side_effect_class === 'read') return allow
  if (hasAllowList(settings)) return askOrDeny(settings, `No list of ${nameOf(tool)} allows this call.`)
  return askOrDeny(settings, `${nameOf(tool)} is not among the tools that run unasked.`)
}

function askOrDeny({ denyByDefault }: ToolSettings, reason: string): Verdict {
  return denyByDefault ? denied('settings', reason) : { verdict: 'ask', reason }
}

/** Why a list cannot say yes or no to a call, if so. A rule that has nothing to look at is never simply skipped. */
function findUndecided(settings: ToolSettings, { commands, named }: CallTarget): string | undefined {
  const { deniedCommands = [] } = settings
  const unseen = kinds.find(
    ({ role, lists }) => !named[role] && lists.some((list) => (settings[list] ?? []).length > 0),
  )
  if (unseen) return `none of its arguments is known to be ${unseen.noun}.`
  const unclear =
    deniedCommands.length > 0 && commands.find((each) => isShellDenied(deniedCommands, each) === undefined)
  if (!unclear) return undefined
  return `whether the command is denied cannot be told: ${unclear.unknown ?? 'a part of it is known only when it runs'}.`
}

const kinds = [
  { role: 'paths', noun: 'a path', lists: ['deniedPaths', 'allowedPaths'] },
  { role: 'commands', noun: 'a command', lists: ['deniedCommands', 'allowedCommands'] },
  { role: 'hosts', noun: 'a host', lists: ['deniedHosts', 'allowedHosts'] },
] as const

function hasAllowList({ allowedPaths, allowedCommands, allowedHosts }: ToolSettings): boolean {
  return Boolean(allowedPaths ?? allowedCommands ?? allowedHosts)
}

/** Each list that there is must hold everything of its kind; one list alone never stands in for another. */
function isListed(settings: ToolSettings, { paths, commands, hosts, named }: CallTarget, base: PathBase): boolean {
  const { allowedPaths, allowedCommands, allowedHosts } = settings
  const answers = [
    allowedPaths && named.paths && paths.every((path) => matchesPathList(allowedPaths, path, base)),
    allowedCommands && named.commands && commands.every((each) => isShellAllowed(allowedCommands, each)),
    allowedHosts && named.hosts && hosts.every((host) => matchesHostList(allowedHosts, host)),
  ].filter((answer) => answer !== undefined)
  return answers.length > 0 && answers.every(Boolean)
}

function denied(step: GateStep, reason: string): Verdict {
  return { verdict: 'deny', step, reason }
}

function nameOf({ uri }: ResolvedTool): string {
  return formatToolUri(uri)
}
