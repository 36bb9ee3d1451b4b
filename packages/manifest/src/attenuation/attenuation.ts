import { BUILTIN_ALIAS } from '@matrix/protocol'
import { effectiveTimeoutMs } from '../diff/tool-diff.ts'
import type { Problem } from '../document/finding.ts'
import { isSameJson } from '../document/json-equality.ts'
import type { Path } from '../document/source-text.ts'
import { readAssignments } from '../manifest/environment-reference.ts'
import type { Manifest, Server, SideEffect, Tool } from '../manifest/manifest.ts'
import type { Policy } from '../policy/policy.ts'
import { isToolVisible, type ToolName } from '../policy/tool-pattern.ts'
import { attenuatePolicy } from './policy-attenuation.ts'

/** What an agent may do: its manifest, narrowed by its policy where it has one. */
export type Grant = { manifest: Manifest; policy?: Policy | undefined }

/** The paths of the reasons lead into the child: into its manifest, or under `policy` into its policy. */
export type Attenuation = { allowed: true } | { allowed: false; reasons: Problem[] }

/**
 * Whether a child may do nothing that its parent may not.
 *
 * The list of tools of a server must be exhaustive in every manifest (Q21), so a child cannot drop a tool by leaving it
 * out, and listing one is not yet a power. A tool is callable when its class is allowed and the policy shows it; what is
 * compared beyond the lists themselves is what each of the two can call. Launch arguments, environment and headers must
 * be equal and not fewer: to leave out `READ_ONLY=1` would be to gain something.
 */
export function attenuate(parent: Grant, child: Grant): Attenuation {
  const reasons = [
    ...attenuateEffects(parent.manifest, child.manifest),
    ...child.manifest.servers.flatMap((server, index) => attenuateServer(parent, child, server, ['servers', index])),
    ...attenuateNativeTools(parent.manifest, child.manifest),
    ...attenuatePolicy(parent.policy, child.policy, callableTools(child)),
  ]
  return reasons.length === 0 ? { allowed: true } : { allowed: false, reasons }
}

/** The tools an agent can really call: of a class that is allowed and that runs, and shown by its policy. */
function callableTools({ manifest, policy }: Grant): ToolName[] {
  return manifest.servers.flatMap((server) =>
    server.tools
      .filter((tool) => isCallable({ manifest, policy }, server.alias, tool))
      .map((tool) => toolName(server.alias, tool.name)),
  )
}

function isCallable({ manifest, policy }: Grant, alias: string, tool: Tool): boolean {
  const { side_effect_class: needs, name } = tool
  const isShown = !policy || isToolVisible(policy.tools, toolName(alias, name))
  return needs !== 'chain' && manifest.allowed_side_effects.includes(needs) && isShown
}

/** Policies know the tools of the built-in server by their bare names. */
function toolName(alias: string, tool: string): ToolName {
  return { server: alias === BUILTIN_ALIAS ? undefined : alias, tool }
}

function attenuateEffects(parent: Manifest, child: Manifest): Problem[] {
  return child.allowed_side_effects.flatMap((effect: SideEffect, index) =>
    parent.allowed_side_effects.includes(effect)
      ? []
      : [reason(['allowed_side_effects', index], `The child may "${effect}", its parent may not.`)],
  )
}

function attenuateServer(parent: Grant, child: Grant, server: Server, path: Path): Problem[] {
  const above = parent.manifest.servers.find(({ alias }) => alias === server.alias)
  if (!above) return [reason([...path, 'alias'], `The parent has no server "${server.alias}".`)]
  return [
    ...attenuateConnection(above, server, path),
    ...attenuatePins(above, server, path),
    ...server.tools.flatMap((tool, index) =>
      attenuateTool({ parent, child, above, server, tool }, [...path, 'tools', index]),
    ),
  ]
}

function attenuateConnection(parent: Server, child: Server, path: Path): Problem[] {
  const { alias } = child
  if (parent.transport === 'stdio' && child.transport === 'stdio')
    return [
      ...same(parent.command === child.command, [...path, 'command'], `The command of "${alias}"`),
      ...same(
        isSameJson(parent.args ?? [], child.args ?? []),
        [...path, 'args'],
        `The list of arguments of "${alias}"`,
      ),
      ...same(isSameAssignments(parent.env, child.env), [...path, 'env'], `The environment of "${alias}"`),
    ]
  if (parent.transport === 'http' && child.transport === 'http')
    return [
      ...same(parent.endpoint === child.endpoint, [...path, 'endpoint'], `The address of "${alias}"`),
      ...same(isSameAssignments(parent.headers, child.headers), [...path, 'headers'], `What is sent to "${alias}"`),
    ]
  return same(false, [...path, 'transport'], `The transport of "${alias}"`)
}

function isSameAssignments(
  a: Parameters<typeof readAssignments>[0],
  b: Parameters<typeof readAssignments>[0],
): boolean {
  const [left, right] = [a, b].map((entries) =>
    Object.fromEntries(readAssignments(entries).map(({ name, value }) => [name, value])),
  )
  return isSameJson(left, right)
}

/** A remote server may be pinned by the child alone, never by the parent alone. */
function attenuatePins(parent: Server, child: Server, path: Path): Problem[] {
  const isSameDigest = parent.package_digest === undefined || parent.package_digest === child.package_digest
  return [
    ...same(parent.version === child.version, [...path, 'version'], `The version of "${child.alias}"`),
    ...same(isSameDigest, [...path, 'package_digest'], `The digest of "${child.alias}"`),
  ]
}

type ToolPair = { parent: Grant; child: Grant; above: Server; server: Server; tool: Tool }

function attenuateTool({ parent, child, above, server, tool }: ToolPair, path: Path): Problem[] {
  const { name, side_effect_class: given } = tool
  const declared = above.tools.find((each) => each.name === name)
  if (!declared) return [reason([...path, 'name'], `The parent has no tool "${name}" of "${server.alias}".`)]
  const problems = same(declared.side_effect_class === given, [...path, 'side_effect_class'], `The class of "${name}"`)
  // A rule about paths looks where the roles say, so other roles would be another rule.
  problems.push(
    ...same(
      isSameJson(declared.arguments, tool.arguments),
      [...path, 'arguments'],
      `What counts as a path, command or host of "${name}"`,
    ),
  )
  if (effectiveTimeoutMs(tool) > effectiveTimeoutMs(declared))
    problems.push(reason([...path, 'timeout_ms'], `The child gives a call of "${name}" more time than its parent.`))
  if (isCallable(child, server.alias, tool) && !isCallable(parent, server.alias, declared))
    problems.push(reason([...path, 'name'], `The child can call "${name}" of "${server.alias}", its parent cannot.`))
  return problems
}

function attenuateNativeTools(parent: Manifest, child: Manifest): Problem[] {
  const above = parent.native_tools ?? []
  return (child.native_tools ?? []).flatMap((tool, index) =>
    above.some((each) => isSameJson(each, tool))
      ? []
      : [reason(['native_tools', index], `The parent has no native tool ${tool.namespace}/${tool.name} like this.`)],
  )
}

function same(isSame: boolean, path: Path, what: string): Problem[] {
  return isSame ? [] : [reason(path, `${what} is not the same as in the parent.`)]
}

function reason(path: Path, message: string): Problem {
  return { rule: 'MX028', path, message }
}
