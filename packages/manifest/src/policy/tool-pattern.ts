import { reservedAliases } from '../manifest/own-server.ts'
import { matchesGlob } from './glob.ts'
import type { Policy, ToolSettings } from './policy.ts'

/** A tool as patterns see it: of a server, or (`undefined`) one of Matrix's own. */
export type ToolName = { server: string | undefined; tool: string }

/**
 * Whether `tools` shows a tool to the model. There are no patterns here beyond whole servers, and a lone `*` for
 * everything: beside other entries it means nothing.
 */
export function isToolVisible(tools: readonly string[], { server, tool }: ToolName): boolean {
  if (tools.length === 1 && tools[0] === '*') return true
  return tools.some((entry) => {
    if (!entry.startsWith('@')) return server === undefined && entry === tool
    const [name, part] = splitReference(entry)
    const isSameServer = server === undefined ? reservedAliases.includes(name) : name === server
    return isSameServer && (part === undefined || part === '' || part === '*' || part === tool)
  })
}

/** Whether `allowedTools` lets a tool run without asking. Patterns for servers never reach native tools, nor the reverse. */
export function isToolAllowed(allowedTools: readonly string[], { server, tool }: ToolName): boolean {
  return allowedTools.some((pattern) => {
    if (server === undefined) return isNativeAllowed(pattern, tool)
    return pattern.startsWith('@') && (matchesGlob(pattern, `@${server}`) || matchesGlob(pattern, `@${server}/${tool}`))
  })
}

/** The settings of exactly this tool; they are not inherited from its server. */
export function findToolSettings(
  toolsSettings: Policy['toolsSettings'],
  { server, tool }: ToolName,
): ToolSettings | undefined {
  const key = server === undefined ? tool : `@${server}/${tool}`
  return Object.hasOwn(toolsSettings, key) ? toolsSettings[key] : undefined
}

/** Whether a hook with this matcher runs for a tool. */
export function matchesHook(matcher: string | undefined, tool: ToolName): boolean {
  return matcher === undefined || matcher === '*' || isToolAllowed([matcher], tool)
}

/** `@server/tool` into its two parts; without a slash there is no second one. */
export function splitReference(reference: string): [server: string, tool: string | undefined] {
  const slash = reference.indexOf('/')
  return slash === -1 ? [reference.slice(1), undefined] : [reference.slice(1, slash), reference.slice(slash + 1)]
}

function isNativeAllowed(pattern: string, tool: string): boolean {
  if (!pattern.startsWith('@')) return matchesGlob(pattern, tool)
  const [name, part] = splitReference(pattern)
  return reservedAliases.includes(name) && (part === undefined || part === '' || matchesGlob(part, tool))
}
