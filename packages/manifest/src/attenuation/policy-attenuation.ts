import type { Problem } from '../document/finding.ts'
import { isSameJson } from '../document/json-equality.ts'
import type { Path } from '../document/source-text.ts'
import { isHostWithin, isPathWithin } from '../policy/path-inclusion.ts'
import type { HookTrigger, Policy, ToolSettings } from '../policy/policy.ts'
import { findToolSettings, isToolAllowed, type ToolName } from '../policy/tool-pattern.ts'

/**
 * Whether a child's policy lets nothing through that its parent's does not, for the tools that the child can call. Where
 * there is no policy, every tool is shown and runs unasked, but no file is read and no command runs on anybody's behalf.
 */
export function attenuatePolicy(
  parent: Policy | undefined,
  child: Policy | undefined,
  callable: readonly ToolName[],
): Problem[] {
  if (!child) return parent ? [reason([], 'The parent is held to a policy, the child to none.')] : []
  return [
    ...callable.flatMap((tool) => attenuateApproval(parent, child, tool)),
    ...callable.flatMap((tool) => attenuateSettings(parent, child, tool)),
    ...attenuateResources(parent?.resources ?? [], child.resources),
    ...attenuateHooks(parent?.hooks ?? {}, child.hooks),
  ]
}

function runsUnasked(policy: Policy | undefined, tool: ToolName): boolean {
  return !policy || isToolAllowed(policy.allowedTools, tool)
}

function attenuateApproval(parent: Policy | undefined, child: Policy, tool: ToolName): Problem[] {
  if (!runsUnasked(child, tool) || runsUnasked(parent, tool)) return []
  const entry = child.allowedTools.findIndex((pattern) => isToolAllowed([pattern], tool))
  return [reason(['allowedTools', entry], `The child runs ${nameOf(tool)} without asking, its parent asks.`)]
}

function attenuateSettings(parent: Policy | undefined, child: Policy, tool: ToolName): Problem[] {
  const above = (parent && findToolSettings(parent.toolsSettings, tool)) ?? {}
  const below = findToolSettings(child.toolsSettings, tool) ?? {}
  const path = ['toolsSettings', settingsKey(tool)]
  const isUnasked = runsUnasked(parent, tool)
  const names = [...new Set([...Object.keys(above), ...Object.keys(below)])].sort()
  return names.flatMap((name) => {
    const complaint = settingComplaint(name, above, below, isUnasked)
    return complaint ? [reason([...path, name], `For ${nameOf(tool)}, the child ${complaint}.`)] : []
  })
}

const withinAllowed: Record<string, (entry: string, outer: string) => boolean> = {
  allowedPaths: isPathWithin,
  allowedHosts: isHostWithin,
  allowedCommands: (entry, outer) => entry === outer,
}
const denials = ['deniedPaths', 'deniedHosts', 'deniedCommands']

/** What makes one setting of the child broader than its parent's, in words. */
function settingComplaint(
  name: string,
  parent: ToolSettings,
  child: ToolSettings,
  isUnasked: boolean,
): string | undefined {
  const isWithin = Object.hasOwn(withinAllowed, name) ? withinAllowed[name] : undefined
  if (isWithin) return allowedComplaint(name, listOf(parent[name]), listOf(child[name]), isWithin, isUnasked)
  if (denials.includes(name)) {
    const dropped = listOf(parent[name])?.find((entry) => !listOf(child[name])?.includes(entry))
    return dropped === undefined ? undefined : `no longer has ${JSON.stringify(dropped)} in ${name}`
  }
  if (name === 'denyByDefault')
    return parent[name] === true && child[name] !== true ? 'asks where its parent refuses' : undefined
  if (name === 'autoAllowReadonly')
    return child[name] === true && parent[name] !== true && !isUnasked
      ? 'reads unasked where its parent asks'
      : undefined
  return isSameJson(parent[name], child[name]) ? undefined : `has another value of ${JSON.stringify(name)}`
}

/** A list both restricts and lets through unasked, so without one the parent may be the narrower or the broader of the two. */
function allowedComplaint(
  name: string,
  parent: readonly string[] | undefined,
  child: readonly string[] | undefined,
  isWithin: (entry: string, outer: string) => boolean,
  isUnasked: boolean,
): string | undefined {
  if (!parent) return child && !isUnasked ? `has ${name}, where its parent always asks` : undefined
  if (!child) return `has no ${name}, which restrict its parent`
  const outside = child.find((entry) => !parent.some((outer) => isWithin(entry, outer)))
  return outside === undefined
    ? undefined
    : `has ${JSON.stringify(outside)} in ${name}, which its parent's do not cover`
}

function attenuateResources(parent: readonly string[], child: readonly string[]): Problem[] {
  const pathOf = (resource: string) => resource.replace(/^file:\/\//, '')
  return child.flatMap((resource, index) =>
    parent.some((outer) => isPathWithin(pathOf(resource), pathOf(outer)))
      ? []
      : [reason(['resources', index], 'The child reads a file into its conversation that its parent does not.')],
  )
}

/** Hooks are commands: a child brings none of its own. And those that can stop a call stay, whatever else goes. */
function attenuateHooks(parent: Policy['hooks'], child: Policy['hooks']): Problem[] {
  const triggers = Object.keys(child) as HookTrigger[]
  const added = triggers.flatMap((trigger) =>
    (child[trigger] ?? []).flatMap((hook, index) =>
      parent[trigger]?.some((each) => isSameJson(each, hook))
        ? []
        : [reason(['hooks', trigger, index], `On ${trigger}, the child runs a command that its parent does not.`)],
    ),
  )
  const isKept = (parent.preToolUse ?? []).every((hook) => child.preToolUse?.some((each) => isSameJson(each, hook)))
  return isKept
    ? added
    : [...added, reason(['hooks', 'preToolUse'], 'A hook that can stop calls of the parent is gone.')]
}

function settingsKey({ server, tool }: ToolName): string {
  return server === undefined ? tool : `@${server}/${tool}`
}

function nameOf(tool: ToolName): string {
  return JSON.stringify(settingsKey(tool))
}

function listOf(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined
}

function reason(path: Path, message: string): Problem {
  return { rule: 'MX028', path: ['policy', ...path], message }
}
