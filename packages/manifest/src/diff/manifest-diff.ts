import { isSameJson } from '../document/json-equality.ts'
import type { ToolSurface } from '../lock/surface.ts'
import { parseLauncher } from '../manifest/launcher.ts'
import type { Manifest, NativeTool, Server, SideEffect } from '../manifest/manifest.ts'
import { type Change, type Matches, matchUp, pairUp, sortChanges } from './change.ts'
import { diffServer } from './server-diff.ts'
import { type DefinedTool, diffTools, diffWording } from './tool-diff.ts'

/** Looks up what a server said about a tool, where somebody kept it. */
export type Definitions = (alias: string, tool: string) => ToolSurface | undefined

/** What changed from one manifest to another, in words, the most dangerous first. The order of anything in them does not count. */
export function diffManifest(before: Manifest, after: Manifest): Change[] {
  return sortChanges(compareManifests({ manifest: before }, { manifest: after }))
}

/** The same without sorting, for one who has more to add. */
export function compareManifests(
  before: { manifest: Manifest; definitions?: Definitions },
  after: { manifest: Manifest; definitions?: Definitions },
): Change[] {
  const [old, now] = [before.manifest, after.manifest]
  const allowed = now.allowed_side_effects
  const servers = matchServers(old, now)
  const compare = (left: Server, right: Server) => [
    ...diffServer(left, right),
    ...diffTools(defined(left, before.definitions), defined(right, after.definitions), right.alias, allowed),
  ]
  return [
    ...diffAgent(old, now),
    ...diffSideEffects(old.allowed_side_effects, allowed),
    ...diffSkills(old.skills ?? [], now.skills ?? []),
    ...servers.added.flatMap((server) => addedServer(server, after.definitions, allowed)),
    ...servers.renamed.flatMap(([left, right]) => [renamedServer(left, right), ...compare(left, right)]),
    ...servers.kept.flatMap(([left, right]) => compare(left, right)),
    ...servers.removed.map(removedServer),
    ...diffNativeTools(old.native_tools ?? [], now.native_tools ?? []),
  ]
}

/** Which server of one manifest is which of the other, also under another alias. */
export function matchServers(
  before: Manifest,
  after: Manifest,
): Matches<Server> & { renamed: [before: Server, after: Server][] } {
  return pairUp(
    matchUp(before.servers, after.servers, ({ alias }) => alias),
    likenessOf,
  )
}

function defined(server: Server, definitions: Definitions = () => undefined): DefinedTool[] {
  return server.tools.map((tool) => ({ tool, definition: definitions(server.alias, tool.name) }))
}

function diffAgent(before: Manifest, after: Manifest): Change[] {
  const wording = diffWording(before.description, after.description, {
    kind: 'description',
    where: {},
    danger: 'low',
    what: 'The description of the agent',
  })
  if (before.agent === after.agent) return wording
  const message = `It is another agent: ${before.agent} → ${after.agent}.`
  return [{ kind: 'agent', where: {}, danger: 'medium', message, before: before.agent, after: after.agent }, ...wording]
}

function diffSideEffects(before: readonly SideEffect[], after: readonly SideEffect[]): Change[] {
  const added = after.filter((effect) => !before.includes(effect))
  const removed = before.filter((effect) => !after.includes(effect))
  return [
    ...added.map((effect): Change => {
      const message = `The agent may now ${verbs[effect]} ("${effect}" is allowed).`
      return { kind: 'side_effects', where: {}, danger: 'high', message, after: effect }
    }),
    ...removed.map((effect): Change => {
      const message = `The agent may no longer ${verbs[effect]} ("${effect}" is not allowed any more).`
      return { kind: 'side_effects', where: {}, danger: 'low', message, before: effect }
    }),
  ]
}

/** A skill only takes away, so that the agent may do more without it. */
function diffSkills(before: readonly string[], after: readonly string[]): Change[] {
  const change = (name: string, danger: Change['danger'], words: string): Change => {
    return { kind: 'skills', where: {}, danger, message: `The agent is ${words} held to the skill "${name}".` }
  }
  return [
    ...before.filter((name) => !after.includes(name)).map((name) => change(name, 'high', 'no longer')),
    ...after.filter((name) => !before.includes(name)).map((name) => change(name, 'low', 'now')),
  ]
}

const verbs: Record<SideEffect, string> = {
  read: 'read',
  write: 'change things',
  network: 'reach the network',
  shell: 'run programs',
  chain: 'use chain tools',
}

function addedServer(server: Server, definitions: Definitions | undefined, allowed: readonly SideEffect[]): Change[] {
  const { alias, version, tools } = server
  const message = `The server "${alias}" ${version} is new, with ${tools.length} tools: ${toolNames(server)}.`
  const hidden = diffTools([], defined(server, definitions), alias, allowed).filter(
    ({ kind }) => kind === 'hidden_characters',
  )
  return [{ kind: 'server_added', where: { server: alias }, danger: 'high', message }, ...hidden]
}

function removedServer(server: Server): Change {
  const message = `The server "${server.alias}" is gone, with ${server.tools.length} tools: ${toolNames(server)}.`
  return { kind: 'server_removed', where: { server: server.alias }, danger: 'low', message }
}

function renamedServer(before: Server, after: Server): Change {
  const message = `The server "${before.alias}" is called "${after.alias}" now, and so are the URIs of its tools.`
  const where = { server: after.alias }
  return { kind: 'server_renamed', where, danger: 'medium', message, before: before.alias, after: after.alias }
}

function toolNames({ tools }: Server): string {
  const names = tools.map(({ name, side_effect_class: given }) => `${name} (${given})`).sort()
  return names.length <= 20 ? names.join(', ') : `${names.slice(0, 20).join(', ')}, …`
}

/** The same package or address, whatever it is called. */
function likenessOf(server: Server): string {
  if (server.transport === 'http') return `http ${server.endpoint}`
  const launcher = parseLauncher(server.command, server.args ?? [])
  return launcher.kind === 'package' ? `package ${launcher.name}` : `digest ${server.package_digest}`
}

function diffNativeTools(before: readonly NativeTool[], after: readonly NativeTool[]): Change[] {
  const { added, removed, kept } = matchUp(before, after, ({ namespace, name }) => `${namespace}/${name}`)
  const changed = kept.filter(([old, now]) => !isSameJson(old, now)).map(([, now]) => now)
  const report = (tools: NativeTool[], words: string) =>
    tools.map(({ namespace, name }): Change => {
      const message = `The native tool ${namespace}/${name} ${words}; none of them can be called in this version.`
      return { kind: 'native_tools', where: { tool: name }, danger: 'low', message }
    })
  return [...report(added, 'is new'), ...report(changed, 'changed'), ...report(removed, 'is gone')]
}
