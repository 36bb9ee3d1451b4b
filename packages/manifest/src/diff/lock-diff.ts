import { isSameJson } from '../document/json-equality.ts'
import type { Lock, LockedPackage, LockedServer } from '../lock/lock.ts'
import { formatRoles } from '../manifest/argument-role.ts'
import type { Server } from '../manifest/manifest.ts'
import { type Change, sortChanges } from './change.ts'
import { compareManifests, type Definitions, matchServers } from './manifest-diff.ts'
import { diffPolicy } from './policy-diff.ts'
import { diffEndpoint, shownCommand } from './server-diff.ts'
import { excerpt } from './text-diff.ts'

type Where = { server: string }
type StdioLock = Extract<LockedServer, { transport: 'stdio' }>

/** What changed from one lock to another, in words, the most dangerous first. The order of anything in them does not count. */
export function diffLock(before: Lock, after: Lock): Change[] {
  const { kept, renamed } = matchServers(before.manifest, after.manifest)
  return sortChanges([
    ...compareManifests(
      { manifest: before.manifest, definitions: definitionsOf(before) },
      { manifest: after.manifest, definitions: definitionsOf(after) },
    ),
    ...[...kept, ...renamed].flatMap(([old, now]) => diffLocked(before, after, old, now)),
    ...diffPolicy(before.policy, after.policy),
    ...diffHookFiles(before.hook_files, after.hook_files),
  ])
}

function definitionsOf(lock: Lock): Definitions {
  return (alias, tool) => {
    const tools = lockedServer(lock, alias)?.tools
    return tools && Object.hasOwn(tools, tool) ? tools[tool]?.definition : undefined
  }
}

function lockedServer({ servers }: Lock, alias: string): LockedServer | undefined {
  return Object.hasOwn(servers, alias) ? servers[alias] : undefined
}

/** What the manifests do not say: how the server really runs, and from what. */
function diffLocked(before: Lock, after: Lock, declaredBefore: Server, declaredAfter: Server): Change[] {
  const [old, now] = [lockedServer(before, declaredBefore.alias), lockedServer(after, declaredAfter.alias)]
  const where = { server: declaredAfter.alias }
  const roles = old && now ? diffRoles(old, now, where) : []
  if (old?.transport === 'stdio' && now?.transport === 'stdio') {
    const isPinned = declaredBefore.package_digest === declaredAfter.package_digest
    const isSameVersion = declaredBefore.version === declaredAfter.version
    return [
      ...roles,
      ...diffLaunch(old, now, where),
      ...diffState(old, now, where),
      ...diffIdentity(old.package, now.package, where, isSameVersion),
      ...diffBytes(old.package, now.package, where, isPinned),
    ]
  }
  const isReported = !isSameJson(endpointOf(declaredBefore), endpointOf(declaredAfter))
  return old?.transport === 'http' && now?.transport === 'http' && !isReported
    ? [...roles, ...diffEndpoint(old.endpoint, now.endpoint, where)]
    : roles
}

function diffLaunch(before: StdioLock, after: StdioLock, where: Where): Change[] {
  if (isSameJson(before.launch, after.launch)) return []
  const [old, now] = [before, after].map(({ launch }) => shownCommand(launch.command, launch.args))
  const message = `What is really run changed: ${old} → ${now}.`
  return [{ kind: 'launch', where, danger: 'high', message, before: old, after: now }]
}

/** Of the tools that both have: what a rule about paths, commands or hosts looks at. */
function diffRoles(before: LockedServer, after: LockedServer, { server }: Where): Change[] {
  return Object.entries(after.tools).flatMap(([tool, { arguments: now }]) => {
    const was = Object.hasOwn(before.tools, tool) ? before.tools[tool] : undefined
    // A lock of before there were roles held nothing to them.
    if (!was?.arguments || isSameJson(was.arguments, now)) return []
    const [old, next] = [was.arguments, now].map(formatRoles)
    const message = `What the lists of a policy look at changed: ${old} → ${next}.`
    return [{ kind: 'tool_class', where: { server, tool }, danger: 'high', message, before: old, after: next }]
  })
}

function diffState(before: StdioLock, after: StdioLock, where: Where): Change[] {
  if (before.keeps_state === after.keeps_state) return []
  const message = after.keeps_state
    ? 'One process now serves the tools of every class: each has the sandbox of all of them.'
    : 'It runs once per class now: each tool has the sandbox of its own class.'
  return [{ kind: 'launch', where, danger: after.keeps_state ? 'high' : 'low', message }]
}

/** Where the manifests say that the version changed, that is not said again. */
function diffIdentity(before: LockedPackage, after: LockedPackage, where: Where, withVersion: boolean): Change[] {
  const [old, now] = [before, after].map(({ ecosystem, name, version }) =>
    excerpt([ecosystem, name, withVersion ? version : ''].join(' ').trim()),
  )
  const message = `It is another package: ${old} → ${now}.`
  return old === now ? [] : [{ kind: 'package', where, danger: 'high', message, before: old, after: now }]
}

function diffBytes(before: LockedPackage, after: LockedPackage, where: Where, isPinned: boolean): Change[] {
  const changes: Change[] = []
  if (before.digest !== after.digest && isPinned) {
    const message = 'The bytes of the package changed, though the manifest pins the same.'
    changes.push({ kind: 'package', where, danger: 'high', message, before: before.digest, after: after.digest })
  }
  if (before.integrity !== after.integrity && before.digest === after.digest) {
    const message = 'The registry states another integrity for the same bytes.'
    const parts = { before: before.integrity, after: after.integrity }
    changes.push({ kind: 'package', where, danger: 'medium', message, ...parts })
  }
  if (before.files_digest !== after.files_digest) changes.push(filesChange(before, after, where))
  if (before.dependencies_digest !== after.dependencies_digest) changes.push(dependencyChange(before, after, where))
  return changes
}

function filesChange({ files_digest: old }: LockedPackage, { files_digest: now }: LockedPackage, where: Where): Change {
  const [danger, message]: [Change['danger'], string] =
    now === undefined
      ? ['high', 'The files that it loads are no longer pinned.']
      : old === undefined
        ? ['low', 'The files that it loads are pinned now.']
        : ['high', 'The files that it loads changed.']
  return { kind: 'package', where, danger, message, before: old, after: now }
}

function dependencyChange(before: LockedPackage, after: LockedPackage, where: Where): Change {
  const [old, now] = [before.dependencies_digest, after.dependencies_digest]
  const say = (danger: Change['danger'], message: string): Change => {
    return { kind: 'dependencies', where, danger, message, before: old, after: now }
  }
  if (now === undefined) return say('high', 'What the package depends on is no longer pinned.')
  if (old === undefined) return say('low', 'What the package depends on is pinned now.')
  return before.version === after.version
    ? say('high', 'What the package depends on changed, although its version did not.')
    : say('medium', 'What the package depends on changed with its version.')
}

function endpointOf(server: Server): string | undefined {
  return server.transport === 'http' ? server.endpoint : undefined
}

function diffHookFiles(before: Lock['hook_files'] = {}, after: Lock['hook_files'] = {}): Change[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return paths.flatMap((path): Change[] => {
    const [old, now] = [before, after].map((files) => (Object.hasOwn(files, path) ? files[path] : undefined))
    if (old === now) return []
    const what = old === undefined ? 'is new' : now === undefined ? 'is gone' : 'has other bytes'
    const message = `The file of a hook ${what}: ${excerpt(path)}.`
    return [{ kind: 'hooks', where: {}, danger: old === undefined ? 'low' : 'high', message, before: old, after: now }]
  })
}
