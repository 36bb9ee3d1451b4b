import {
  checkLock,
  createLock,
  digestValue,
  type Lock,
  type LockedServer,
  type Manifest,
  proposeSideEffect,
  type ResolvedServer,
  rules,
  type Server,
  type SideEffect,
  serverSurfaceDigest,
  type Tool,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError, printable } from '@matrix/protocol'

/** One text of a definition, by the way to it, as it was agreed to and as it was found. */
export type DriftedField = { field: string; approved: string | null; found: string | null }

export type DriftedTool = {
  tool: string
  change: 'changed' | 'added' | 'removed' | 'repeated'
  /** The class that the manifest gives to the tool; for one that is new, the class that it would get. */
  sideEffect: SideEffect
  fields: DriftedField[]
}

/** What is different about a server, tool by tool and text by text. Nothing in it is invisible or out of order. */
export function describeDrift(
  { tools }: Server,
  found: readonly ToolSurface[],
  locked?: LockedServer | undefined,
): DriftedTool[] {
  const names = [...new Set([...tools.map(({ name }) => name), ...found.map(({ name }) => name)])]
  return names.flatMap((name): DriftedTool[] => {
    const [surface, again] = found.filter((each) => each.name === name)
    const declared = tools.find((each) => each.name === name)
    const agreed = locked && Object.hasOwn(locked.tools, name) ? locked.tools[name]?.definition : undefined
    const sideEffect = declared?.side_effect_class ?? (surface ? proposeSideEffect(surface).class : 'shell')
    const change = changeOf({ declared, surface, again })
    // Without a lock nobody has agreed to any words, so there is nothing that they could differ from.
    const fields = change === 'changed' && !agreed ? [] : diffFields(agreed, again ?? surface)
    if (change === 'changed' && fields.length === 0) return []
    return [{ tool: printable(name), change, sideEffect, fields }]
  })
}

type Seen = { declared: Tool | undefined; surface: ToolSurface | undefined; again: ToolSurface | undefined }

function changeOf({ declared, surface, again }: Seen): DriftedTool['change'] {
  if (again) return 'repeated'
  if (!surface) return 'removed'
  return declared ? 'changed' : 'added'
}

function diffFields(approved: ToolSurface | undefined, found: ToolSurface | undefined): DriftedField[] {
  const [before, after] = [textsOf(approved), textsOf(found)]
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((field) => ({ field, approved: before.get(field) ?? null, found: after.get(field) ?? null }))
    .filter((each) => each.approved !== each.found)
}

function textsOf(surface: ToolSurface | undefined): Map<string, string> {
  const texts = new Map<string, string>()
  if (!surface) return texts
  const { title, description, inputSchema, outputSchema, annotations } = surface
  collect({ title, description, inputSchema, outputSchema, annotations }, '', texts)
  return texts
}

function collect(value: unknown, field: string, texts: Map<string, string>): void {
  if (value === undefined) return
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const isList = Array.isArray(value) && value.every((part) => typeof part !== 'object')
  if (parts.length === 0 || isList)
    texts.set(field, printable(typeof value === 'string' ? value : JSON.stringify(value)))
  else for (const [key, part] of parts) collect(part, field === '' ? key : `${field}.${printable(key)}`, texts)
}

/**
 * The lock after somebody has agreed to what one of its servers has now, under the digest of what they were shown. A tool
 * that is new gets the class that was proposed for it, one that is gone leaves the manifest, and all else stays as it was.
 */
export function agreeToSurface(lock: Lock, alias: string, found: readonly ToolSurface[], seen: string): Lock {
  if (serverSurfaceDigest(found) !== seen)
    throw new MatrixError('APPROVAL_UNKNOWN', `What "${alias}" has is no longer what was shown.`, {
      hint: 'Look at it again, then approve what is there now.',
    })
  const before = lock.servers[alias]
  if (!before) throw new MatrixError('TOOL_UNKNOWN', `The lock holds no server "${alias}".`)
  const manifest: Manifest = {
    ...lock.manifest,
    servers: lock.manifest.servers.map((server) => (server.alias === alias ? withTools(server, found, seen) : server)),
  }
  const isChanged = digestValue(manifest) !== digestValue(lock.manifest)
  const source =
    isChanged && lock.source.format === 'matrix' ? { format: 'matrix', digest: digestValue(manifest) } : lock.source
  const resolved = Object.entries(lock.servers).map(([name, server]) => [
    name,
    resolvedOf(server, name === alias ? found : Object.values(server.tools).map(({ definition }) => definition)),
  ])
  return soundLock(
    createLock({
      source,
      manifest,
      servers: Object.fromEntries(resolved),
      policy: lock.policy,
      hook_files: lock.hook_files,
    }),
  )
}

function withTools(server: Server, found: readonly ToolSurface[], surface: string): Server {
  const kept = server.tools.filter(({ name }) => found.some((each) => each.name === name))
  const added = found
    .filter(({ name }) => !server.tools.some((each) => each.name === name))
    .map((each): Tool => ({ name: each.name, side_effect_class: proposeSideEffect(each).class }))
  const tools = [...kept, ...added]
  // The digest of a remote server is that of its list.
  return server.transport === 'http' && server.package_digest
    ? { ...server, tools, package_digest: surface }
    : { ...server, tools }
}

function resolvedOf({ surface: _old, ...server }: LockedServer, tools: readonly ToolSurface[]): ResolvedServer {
  return { ...server, tools }
}

/** What hides in a definition or contradicts itself is not locked, whoever agrees to it. */
export function soundLock(value: unknown): Lock {
  const { lock, problems } = checkLock(value)
  const error = problems.find(({ rule, severity = rules[rule].severity }) => severity === 'error')
  if (lock && !error) return lock
  if (!error) throw new MatrixError('DOCUMENT_INVALID', 'It is not a lock.')
  throw new MatrixError('DOCUMENT_INVALID', error.message, { hint: error.fix ?? rules[error.rule].fix })
}
