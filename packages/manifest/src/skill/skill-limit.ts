import { BUILTIN_ALIAS } from '@matrix/protocol'
import type { SideEffect } from '../manifest/manifest.ts'
import type { ToolUri } from '../manifest/tool-uri.ts'
import { findGrant, type ToolGrants, type ToolLimits } from '../markdown/tool-grant.ts'
import type { ToolName } from '../policy/tool-pattern.ts'
import { isToolInSkill, type ToolAllowlist } from './tool-allowlist.ts'

/** What one skill lets those use who have it: its §TOOLS, its `allowed-tools`, or both. */
export type SkillLimit = { name: string; tools: ToolAllowlist; grants: ToolGrants | undefined }

/** A tool with every pin that its manifest knows it by. */
export type PinnedTool = { name: ToolName; uris: readonly ToolUri[] }

/** What the skill holds a tool to, or undefined where it does not allow the tool at all. */
export function limitsInSkill({ tools, grants }: SkillLimit, { name, uris }: PinnedTool): ToolLimits | undefined {
  if (!uris.some((uri) => isToolInSkill(tools, uri)) && tools !== 'unconstrained') return undefined
  return grants ? findGrant(grants, name) : {}
}

/**
 * Whether the skill allows one of the tools with which agents change branches. §TOOLS lists it like any other; in a list of
 * another program, which does not know it, what writes files stands for it.
 */
export function isOwnToolInSkill(
  { tools, grants }: SkillLimit,
  { name, sideEffect, version }: { name: string; sideEffect: SideEffect; version: string | undefined },
): boolean {
  const uri = version === undefined ? undefined : { server: BUILTIN_ALIAS, tool: name, pin: version }
  if (tools !== 'unconstrained' && !(uri && isToolInSkill(tools, uri))) return false
  if (!grants || findGrant(grants, { server: undefined, tool: name })) return true
  return sideEffect === 'write' && findGrant(grants, { server: undefined, tool: 'write_file' }) !== undefined
}
