import { findHiddenCharacters, MatrixError } from '@matrix/protocol'
import { isPlaceholderDigest } from '../manifest/digest.ts'
import type { Manifest, Server } from '../manifest/manifest.ts'
import { formatToolUri, parseToolUri, type ToolUri } from '../manifest/tool-uri.ts'
import type { Line, Section, TextProblem } from './skill-section.ts'

/** The URIs a skill may use, or all that its manifest allows when the skill does not say. */
export type ToolAllowlist = 'unconstrained' | ReadonlySet<string>

/** Whether the skill may use the tool under exactly this pin. */
export function isToolInSkill(allowlist: ToolAllowlist, uri: ToolUri | string): boolean {
  return allowlist === 'unconstrained' || allowlist.has(typeof uri === 'string' ? uri : formatToolUri(uri))
}

type Entry = { uris: string[]; problems: TextProblem[] }

/** What stands in a §TOOLS section: `none`, or one pinned URI a line. A line that is wrong allows nothing. */
export function readToolAllowlist(
  { header, lines }: Section,
  manifest: Manifest | undefined,
): { tools: ReadonlySet<string>; problems: TextProblem[] } {
  if (lines.length === 0) return { tools: new Set(), problems: [emptyList(header)] }
  const none = lines.find(({ text }) => text === 'none')
  if (none) return { tools: new Set(), problems: lines.length > 1 ? [contradiction(none)] : [] }

  const tools = new Set<string>()
  const problems = lines.flatMap((line) => {
    const { uris, problems: found } = readEntry(line, manifest)
    const isTwice = uris.length > 0 && uris.every((uri) => tools.has(uri))
    for (const uri of uris) tools.add(uri)
    return isTwice ? [...found, listedTwice(line)] : found
  })
  return { tools, problems }
}

function readEntry(line: Line, manifest: Manifest | undefined): Entry {
  const hidden = findHiddenCharacters(line.text)
  if (hidden.length > 0) {
    const message = `The line holds characters that nobody sees: ${hidden.join(', ')}.`
    return refused({ rule: 'MX024', ...placeOf(line), message })
  }
  try {
    const uri = parseToolUri(line.text)
    return isPlaceholderDigest(uri.pin) && uri.pin.startsWith('sha256:')
      ? placeholder(line)
      : resolve(uri, line, manifest)
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return error.code === 'ErrUnpinnedTool' ? unpinned(line, manifest) : malformed(line)
  }
}

/** A version and the digest of its package are two names of one thing, so either pin in the skill allows both in a call. */
function resolve(uri: ToolUri, line: Line, manifest: Manifest | undefined): Entry {
  if (!manifest) return { uris: [formatToolUri(uri)], problems: [] }
  const server = manifest.servers.find(({ alias }) => alias === uri.server)
  const reason = server ? mismatch(uri, server) : `the manifest has no server "${uri.server}"`
  if (!server || reason)
    return refused({ rule: 'MX016', ...placeOf(line), message: `The skill can never use ${line.text}: ${reason}.` })
  return { uris: pinsOf(server).map((pin) => formatToolUri({ ...uri, pin })), problems: [] }
}

function mismatch({ tool, pin }: ToolUri, server: Server): string | undefined {
  if (!server.tools.some(({ name }) => name === tool)) return `"${server.alias}" has no tool "${tool}"`
  return pinsOf(server).includes(pin) ? undefined : `"${server.alias}" is pinned to ${pinsOf(server).join(' or ')}`
}

function pinsOf({ version, package_digest: digest }: Server): string[] {
  return digest && !isPlaceholderDigest(digest) ? [version, digest] : [version]
}

function unpinned(line: Line, manifest: Manifest | undefined): Entry {
  const [, alias] = /^matrix:\/\/tool\/mcp\/([^/]*)\//.exec(line.text) ?? []
  const server = manifest?.servers.find((each) => each.alias === alias)
  const message = `${shown(line)} is not pinned to one version or digest.`
  return refused({
    rule: 'MX015',
    ...placeOf(line),
    message,
    ...(server && { fix: `End the URI with @${server.version}, as the manifest has it.` }),
  })
}

function malformed(line: Line): Entry {
  if (/^matrix:\/\/tool\/(?!mcp\/)[a-z]+\/[\w.-]+@/.test(line.text)) {
    const message = `${shown(line)} names a native tool, and none of those can be called in this version.`
    return refused({ rule: 'MX023', ...placeOf(line), message })
  }
  const fix = 'Write one URI a line and nothing else: matrix://tool/mcp/<alias>/<tool>@<version>.'
  return refused({ rule: 'MX016', ...placeOf(line), message: `${shown(line)} is not a tool URI.`, fix })
}

function placeholder(line: Line): Entry {
  const message = 'The URI is pinned to a placeholder: no package has that digest.'
  return refused({ rule: 'MX005', ...placeOf(line), message })
}

function refused(problem: TextProblem): Entry {
  return { uris: [], problems: [problem] }
}

function emptyList(header: Line): TextProblem {
  const message = '§TOOLS is empty, so the skill may use no tool.'
  return { rule: 'MX001', severity: 'note', ...placeOf(header), message, fix: 'Write none to say that it is meant.' }
}

function contradiction(none: Line): TextProblem {
  const message = '§TOOLS says none and lists tools as well; it is taken as none.'
  return { rule: 'MX001', ...placeOf(none), message, fix: 'Remove one or the other.' }
}

function listedTwice(line: Line): TextProblem {
  return { rule: 'MX012', severity: 'warning', ...placeOf(line), message: '§TOOLS lists this tool twice.' }
}

function shown({ text }: Line): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}

function placeOf({ text, offset }: Line): { offset: number; length: number } {
  return { offset, length: text.length }
}
