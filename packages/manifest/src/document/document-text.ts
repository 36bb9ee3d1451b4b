import { isUtf8 } from 'node:buffer'
import { type Finding, formatPointer } from './finding.ts'
import { type RuleId, rules } from './rule.ts'
import { openSourceText, type Path, type Place, type SourceText } from './source-text.ts'

/** Far above any real manifest, far below what would make a program wait. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
export const MAX_DEPTH = 64

export type Document = {
  source: SourceText
  /** What the text says; `undefined` when it cannot be read. */
  value: unknown
  /** What is wrong with it as JSON or TOML, whatever it was meant to be. */
  findings: Finding[]
}

/** The text of a file without its byte order mark, or why it is none that Matrix reads. */
export type FileText = { text: string; hasMark: boolean } | { refusal: Document }

export function readText(bytes: Uint8Array, limit = MAX_DOCUMENT_BYTES): FileText {
  if (bytes.length > limit)
    return { refusal: refuse('', `The file has ${bytes.length} bytes; a manifest has at most ${limit}.`) }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!isUtf8(buffer)) return { refusal: notUtf8(buffer) }
  const hasMark = buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf
  const text = buffer.toString('utf8', hasMark ? 3 : 0)
  if (text.trim() !== '') return { text, hasMark }
  return { refusal: refuse(text, 'The file is empty.', { fix: 'Write a manifest into it, or do not pass it.' }) }
}

function notUtf8(buffer: Buffer): Document {
  const text = buffer.toString('utf8')
  let at = text.indexOf('\uFFFD')
  // Decoding puts U+FFFD for a bad byte, but a file may also hold a well-formed one.
  while (at !== -1 && buffer.toString('hex', offsetOf(text, at), offsetOf(text, at) + 3) === 'efbfbd')
    at = text.indexOf('\uFFFD', at + 1)
  const source = openSourceText(text)
  const message = `Byte ${offsetOf(text, at)} of the file is not valid UTF-8.`
  return {
    source,
    value: undefined,
    findings: [findingAtPlace('MX001', message, source.placeOf(at, 1), { fix: 'Save the file as UTF-8.' })],
  }
}

function offsetOf(text: string, index: number): number {
  return Buffer.byteLength(text.slice(0, index))
}

export function tooDeep(text: string): Document {
  return refuse(text, `The document is nested more than ${MAX_DEPTH} levels deep.`, { fix: 'Flatten it.' })
}

/** What is wrong with the file as a whole. */
export function refuse(text: string, message: string, options: { fix?: string } = {}): Document {
  const source = openSourceText(text)
  return { source, value: undefined, findings: [findingAtPlace('MX001', message, source.placeOf(0, 0), options)] }
}

export function findingAtPlace(
  rule: RuleId,
  message: string,
  place: Place,
  options: { fix?: string; path?: Path } = {},
): Finding {
  const { fix = rules[rule].fix, path = [] } = options
  return { rule, severity: rules[rule].severity, message, fix, pointer: formatPointer(path), ...place }
}
