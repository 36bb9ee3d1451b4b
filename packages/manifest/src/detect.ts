import { type Document, parseDocument } from './document/document.ts'
import { type Finding, type Mode, severityIn } from './document/finding.ts'
import { detectFormat, type Format } from './format.ts'

/** A file as it was read: what it says, with the place of each value, and what kind of document that is. */
export type DetectedDocument = Document & { format: Format | undefined }

export type DetectOptions = {
  /** What the file is called, without its folder: the ending tells the syntax, the stem names what has no name of its own. */
  fileName?: string | undefined
  mode?: Mode | undefined
}

/** Any file that Matrix reads, in any syntax: `verify`, `import`, `lock` and `agent add` all come through here. */
export async function detectDocument(
  bytes: Uint8Array,
  { mode = 'default' }: DetectOptions = {},
): Promise<DetectedDocument> {
  const strict = parseDocument(bytes)
  const [slip] = strict.findings
  if (strict.value !== undefined || !slip) return { ...strict, format: detectFormat(strict.value) }

  const relaxed = parseDocument(bytes, { relaxed: true })
  const format = detectFormat(relaxed.value)
  if (relaxed.value === undefined || (format && ownFormats.includes(format))) return { ...strict, format: undefined }
  const findings = format === undefined || commented.includes(format) ? [] : [tolerated(slip, mode)]
  return { ...relaxed, format, findings: [...relaxed.findings, ...findings] }
}

/** What Matrix itself writes and pins is JSON to the letter. */
const ownFormats: readonly Format[] = ['matrix', 'lock']

/** Where comments and trailing commas are part of the format. */
const commented: readonly Format[] = ['vscode']

function tolerated(slip: Finding, mode: Mode): Finding {
  const severity = severityIn(mode, { rule: slip.rule, severity: 'warning' })
  return { ...slip, severity, fix: 'Matrix reads the file all the same. Correct this place for programs that do not.' }
}
