import { createHash } from 'node:crypto'
import { MatrixError } from '@matrix/protocol'
import type { Manifest } from './manifest.ts'
import { formatToolUri, type ToolUri } from './tool-uri.ts'

/** What model providers accept as the name of a tool. */
const MAX_WIRE_NAME_LENGTH = 64

/** The names by which a model calls the tools of a manifest, in both directions. */
export type WireNames = {
  /** All of them, in the order of the manifest. */
  names: readonly string[]
  toUri(name: string): ToolUri | undefined
  /** By version or by package digest, as the URI is pinned. */
  toWireName(uri: ToolUri): string | undefined
}

type Declared = { alias: string; tool: string; version: string; digest: string | undefined }

/** The table for one manifest: each tool has one name and each name one tool. What else is declared changes a name only where two hashes meet. */
export function buildWireNames({ servers }: Manifest): WireNames {
  const declared = servers.flatMap(({ alias, version, package_digest: digest, tools }) =>
    tools.map(({ name }): Declared => ({ alias, tool: name, version, digest })),
  )
  const names = chooseNames(declared)
  const uris = new Map<string, ToolUri>()
  const byUri = new Map<string, string>()
  for (const { alias, tool, version, digest } of declared) {
    const name = names.get(identityOf(alias, tool)) ?? ''
    const uri = { server: alias, tool, pin: version }
    if (uris.has(name)) throw declaredTwice(uri)
    uris.set(name, uri)
    byUri.set(formatToolUri(uri), name)
    if (digest) byUri.set(formatToolUri({ ...uri, pin: digest }), name)
  }
  return {
    names: [...uris.keys()],
    toUri: (name) => uris.get(name),
    toWireName: (uri) => byUri.get(formatToolUri(uri)),
  }
}

/** Whoever writes a server can search for two names with one short hash, so those that meet get a longer one. */
function chooseNames(declared: readonly Declared[], digits = 8): Map<string, string> {
  const takers = new Map<string, Declared[]>()
  for (const each of new Map(declared.map((tool) => [identityOf(tool.alias, tool.tool), tool])).values()) {
    const name = wireNameOf(each.alias, each.tool, digits)
    takers.set(name, [...(takers.get(name) ?? []), each])
  }
  const names = new Map<string, string>()
  for (const [name, sharing] of takers) {
    const [only] = sharing
    if (sharing.length === 1 && only) names.set(identityOf(only.alias, only.tool), name)
    else for (const [identity, longer] of chooseNames(sharing, digits * 2)) names.set(identity, longer)
  }
  return names
}

function wireNameOf(alias: string, tool: string, digits: number): string {
  const plain = `mcp__${alias}__${tool}`
  if (isPlain(alias, plain)) return plain
  const hash = createHash('sha256').update(identityOf(alias, tool)).digest('hex').slice(0, digits)
  const start = plain.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_WIRE_NAME_LENGTH - digits - 1)
  return `${start}_${hash}`
}

/**
 * Fit to be used as it is. An alias that ends in `_` would blur where the tool begins, and a name that ends like one with
 * a hash could be taken for one.
 */
function isPlain(alias: string, name: string): boolean {
  return (
    name.length <= MAX_WIRE_NAME_LENGTH &&
    /^[A-Za-z0-9_-]+$/.test(name) &&
    !alias.endsWith('_') &&
    !/_[0-9a-f]{8,}$/.test(name)
  )
}

function identityOf(alias: string, tool: string): string {
  return `${alias}/${tool}`
}

function declaredTwice(uri: ToolUri): MatrixError {
  return new MatrixError('TOOL_AMBIGUOUS', `The manifest declares ${formatToolUri(uri)} more than once.`, {
    hint: 'Give each server its own alias, and list each of its tools once.',
  })
}
