import { type Document, parseDocument } from './document/document.ts'
import { refuse } from './document/document-text.ts'
import { type FileKind, findFileKind } from './document/file-kind.ts'
import { type Finding, type Mode, type Problem, placeProblems, severityIn } from './document/finding.ts'
import { isRecord, own } from './document/json-record.ts'
import { quoteText } from './document/quoted-text.ts'
import { detectFormat, type Format } from './format.ts'

/** A file as it was read: what it says, with the place of each value, and what kind of document that is. */
export type DetectedDocument = Document & {
  format: Format | undefined
  /** In what it is written, in words: JSON, TOML, Markdown. */
  syntax: string
}

export type DetectOptions = {
  /** What the file is called, without its folder: the ending tells the syntax, the stem names what has no name of its own. */
  fileName?: string | undefined
  mode?: Mode | undefined
}

/** Loaded with the first file that needs it. */
let toml: Promise<typeof import('./document/toml-document.ts')> | undefined

/** Any file that Matrix reads, in any syntax: `verify`, `import`, `lock` and `agent add` all come through here. */
export async function detectDocument(
  bytes: Uint8Array,
  { fileName, mode = 'default' }: DetectOptions = {},
): Promise<DetectedDocument> {
  const kind = findFileKind(bytes, fileName)
  if (kind?.name === 'TOML') {
    toml ??= import('./document/toml-document.ts')
    const document = (await toml).parseToml(bytes)
    return { ...document, format: detectFormat(document.value, fileName), syntax: 'TOML' }
  }
  if (kind?.name === 'Markdown' && hasFrontMatter(bytes))
    return (await import('./markdown/markdown-document.ts')).readMarkdown(bytes, { fileName, mode })
  const document = readJson(bytes, fileName, mode)
  // What parses as JSON is JSON, whatever its name says.
  if (!kind || document.value !== undefined) return named(document, { fileName, mode })
  return { ...unreadKind(kind), format: undefined, syntax: kind.name }
}

function readJson(bytes: Uint8Array, fileName: string | undefined, mode: Mode): DetectedDocument {
  const strict = { ...parseDocument(bytes), syntax: 'JSON' }
  const [slip] = strict.findings
  if (strict.value !== undefined || !slip) return { ...strict, format: detectFormat(strict.value, fileName) }

  const relaxed = { ...parseDocument(bytes, { relaxed: true }), syntax: 'JSON' }
  const format = detectFormat(relaxed.value, fileName)
  if (relaxed.value === undefined || (format && ownFormats.includes(format))) return { ...strict, format: undefined }
  const isAtHome = format === undefined || commented.includes(format) || commentedNames.test(fileName ?? '')
  const findings = isAtHome ? [] : [tolerated(slip, mode)]
  return { ...relaxed, format, findings: [...relaxed.findings, ...findings] }
}

function unreadKind({ name, fix }: FileKind): Document {
  const advice = 'Matrix reads manifests, agents and settings with MCP servers as JSON, and those of Codex as TOML.'
  return refuse('', `This is ${name}, not a document of a format that Matrix reads.`, { fix: fix ?? advice })
}

/** Agent files of some programs have no name but that of the file. */
function named(document: DetectedDocument, { fileName, mode = 'default' }: DetectOptions): DetectedDocument {
  const { format, value, source, findings } = document
  if (format !== 'agent-format' || !isRecord(value) || own(value, 'name') !== undefined || !fileName) return document
  const name = agentNameOf(fileName)
  const message = `The agent has no "name"; that of the file is used: ${quoteText(name)}.`
  const missing: Problem = { rule: 'MX026', severity: 'warning', path: [], message, fix: `Add "name": "${name}".` }
  return { ...document, value: { name, ...value }, findings: [...findings, ...placeProblems([missing], source, mode)] }
}

/** What an agent is called that has only a file: `My Agent.json` is `My-Agent`. */
export function agentNameOf(fileName: string): string {
  const stem = fileName.replace(/^\.+/, '').replace(/\.[^.]*$/, '')
  return (
    stem
      .replace(/[^A-Za-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 64) || 'agent'
  )
}

/** What Matrix itself writes and pins is JSON to the letter. */
const ownFormats: readonly Format[] = ['matrix', 'lock']

/** Where comments and trailing commas are part of the format. */
const commented: readonly Format[] = ['vscode', 'zed', 'opencode']
/** The settings of Gemini CLI, and what says so itself. */
const commentedNames = /^settings\.json$|\.jsonc$|\.json5$/

function tolerated(slip: Finding, mode: Mode): Finding {
  const severity = severityIn(mode, { rule: slip.rule, severity: 'warning' })
  return { ...slip, severity, fix: 'Matrix reads the file all the same. Correct this place for programs that do not.' }
}

/** Markdown without it is a text for people, or for every agent. */
function hasFrontMatter(bytes: Uint8Array): boolean {
  return /^\uFEFF?---\s*\n/.test(Buffer.from(bytes.subarray(0, 64)).toString('utf8'))
}
