import { reservedAliases } from '../manifest/own-server.ts'
import { hasWildcard, matchesGlob } from './glob.ts'
import type { Hook, Policy } from './policy.ts'
import { splitReference } from './tool-pattern.ts'

/** The alias of each server that the author's file declares, by the name it has there. */
export type AliasesByName = Readonly<Record<string, string>>

/**
 * The same policy where servers go by their aliases: it shows, allows and narrows exactly the same tools. References to
 * servers that are not declared are left out, or they could come to mean one that happens to be given that alias.
 */
export function renameServers(policy: Policy, aliases: AliasesByName): Policy {
  const servers = Object.entries(aliases)
  const renameAll = (references: readonly string[]) => [
    ...new Set(references.flatMap((reference) => renameReference(reference, servers) ?? [])),
  ]
  return {
    ...policy,
    tools: renameAll(policy.tools),
    allowedTools: renameAll(policy.allowedTools),
    toolsSettings: Object.fromEntries(
      Object.entries(policy.toolsSettings).flatMap(([key, settings]) =>
        (renameReference(key, servers) ?? []).map((reference) => [reference, settings]),
      ),
    ),
    hooks: Object.fromEntries(
      Object.entries(policy.hooks).map(([trigger, hooks]) => [
        trigger,
        hooks.flatMap((hook) => renameHook(hook, servers)),
      ]),
    ),
  }
}

/** A pattern that cannot be taken apart makes its hook run for every server: a guard may run too often, but not too seldom. */
function renameHook(hook: Hook, servers: readonly [string, string][]): Hook[] {
  if (hook.matcher === undefined || hook.matcher === '*') return [hook]
  const matchers = renameReference(hook.matcher, servers) ?? ['@*']
  return [...new Set(matchers)].map((matcher) => ({ ...hook, matcher }))
}

/** `undefined` when the pattern has parts other than `*` and `?` where the name of the server stands. */
function renameReference(reference: string, servers: readonly [string, string][]): string[] | undefined {
  if (!reference.startsWith('@')) return [reference]
  const [server, tool] = splitReference(reference)
  if (reservedAliases.includes(server)) return [reference]
  const isPattern = hasWildcard(reference) && (tool === undefined || hasWildcard(server))
  if (isPattern && /[[\]{}\\]/.test(reference)) return undefined
  return servers.flatMap(([name, alias]) => {
    const after = tool === undefined ? '' : `/${tool}`
    // Neither names nor tools hold a slash, so that the one in the pattern is the one in the text.
    if (tool !== undefined || !isPattern) return isSame(server, name, isPattern) ? [`@${alias}${after}`] : []
    return matchesGlob(server, name) ? [`@${alias}`] : acrossSlash(server, name).map((part) => `@${alias}/${part}`)
  })
}

function isSame(server: string, name: string, isPattern: boolean): boolean {
  return isPattern ? matchesGlob(server, name) : server === name
}

/** What is left for the tool when a wildcard of the pattern stands for the slash: a star goes on after it, a question mark does not. */
function acrossSlash(pattern: string, name: string): string[] {
  return [...pattern.matchAll(/[*?]/g)].flatMap(({ 0: wildcard, index }) => {
    const isStar = wildcard === '*'
    const before = pattern.slice(0, isStar ? index + 1 : index)
    return matchesGlob(before, name) ? [pattern.slice(isStar ? index : index + 1)] : []
  })
}
