import { MatrixError } from '@matrix/protocol'

/** One tool of one MCP server at one version or digest, as plans and journals name it. */
export type ToolUri = { server: string; tool: string; pin: string }

/** No `__`, so that `mcp__<alias>__<tool>` can be taken apart again. */
export const ALIAS_SHAPE = /^[a-z0-9](?:[a-z0-9-]|_(?!_))*$/
export const MAX_ALIAS_LENGTH = 32
/** Not `.`, `..` or `__proto__`, which mean something else in a path or an object. */
export const TOOL_NAME_SHAPE = /^(?!\.{1,2}$|__proto__$)[A-Za-z0-9_.-]{1,128}$/
export const DIGEST_SHAPE = /^sha256:[0-9a-f]{64}$/

const prefix = 'matrix://tool/mcp/'

export function parseToolUri(text: string): ToolUri {
  const [server = '', rest = '', ...more] = text.startsWith(prefix) ? text.slice(prefix.length).split('/') : []
  const at = rest.indexOf('@')
  const tool = at === -1 ? rest : rest.slice(0, at)
  if (!isAlias(server) || !TOOL_NAME_SHAPE.test(tool) || more.length > 0)
    throw new MatrixError('URI_MALFORMED', `Not a tool URI: ${text}`)

  // Unpinned would mean "whatever is installed today", which no manifest can vouch for.
  const pin = at === -1 ? '' : rest.slice(at + 1)
  if (!isPin(pin)) throw new MatrixError('ErrUnpinnedTool', `Tool URI without a version or digest: ${text}`)

  return { server, tool, pin }
}

export function formatToolUri({ server, tool, pin }: ToolUri): string {
  return `${prefix}${server}/${tool}@${pin}`
}

export function isAlias(text: string): boolean {
  return text.length <= MAX_ALIAS_LENGTH && ALIAS_SHAPE.test(text)
}

/** An exact version or a digest: something that can only ever mean one package. */
export function isPin(text: string): boolean {
  return DIGEST_SHAPE.test(text) || isExactVersion(text)
}

// The grammar of Semantic Versioning 2.0.0, numbers limited to what every program can hold.
const number = '(?:0|[1-9]\\d{0,14})'
const preRelease = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)'
export const VERSION_SHAPE = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-${preRelease}(?:\\.${preRelease})*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)

/** `1.2.3`, `2026.8.31`, `1.0.0-rc.1+build.5`; no range, no tag, no leading `v`, no leading zeros. */
export function isExactVersion(text: string): boolean {
  return text.length <= 256 && VERSION_SHAPE.test(text)
}
