import { findToolSettings, isOwnServer, type PathBase, type Policy, type ToolSettings } from '@matrix/manifest'
import { policyName } from './gate.ts'
import type { ResolvedTool } from './registry.ts'
import type { PathRules } from './sandbox/path-rule.ts'

/**
 * What the sandbox of a process can be held to: paths that are denied to each of its tools, and the lists of allowed paths
 * where no user is asked about others. For a shell the list always holds: its commands do not say what they open.
 */
export function pathRulesOf(
  served: readonly ResolvedTool[],
  policy: Policy | undefined,
  base: PathBase,
): PathRules | undefined {
  const deciding = served.filter((tool) => !isLookout(tool))
  const settings = deciding.map((tool) => policy && findToolSettings(policy.toolsSettings, policyName(tool)))
  const [first, ...others] = settings
  const denied = (first?.deniedPaths ?? []).filter((path) => others.every((each) => each?.deniedPaths?.includes(path)))
  const isFixed = settings.length > 0 && deciding.every((tool, index) => isFinal(tool, settings[index]))
  const allowed = isFixed ? [...new Set(settings.flatMap((each) => each?.allowedPaths ?? []))] : undefined
  return denied.length > 0 || allowed ? { denied, allowed, base } : undefined
}

export function hasPathRules(settings: ToolSettings | undefined): boolean {
  return Boolean(settings?.deniedPaths ?? settings?.allowedPaths)
}

/** It only looks after what `bash` has started. */
function isLookout({ server, tool }: ResolvedTool): boolean {
  return isOwnServer(server) && tool.name === 'background'
}

function isFinal({ server, tool }: ResolvedTool, settings: ToolSettings | undefined): boolean {
  if (!settings?.allowedPaths) return false
  return settings.denyByDefault === true || (isOwnServer(server) && tool.side_effect_class === 'shell')
}
