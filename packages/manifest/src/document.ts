import { isUtf8 } from 'node:buffer'
import { type ParseError, type ParseErrorCode, parse, printParseErrorCode, visit } from 'jsonc-parser'
import { type Finding, formatPointer } from './finding.ts'
import { type RuleId, rules } from './rule.ts'
import { openSourceText, type Path, type Place, type SourceText } from './source-text.ts'

/** Far above any real manifest, far below what would make a program wait. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
export const MAX_DEPTH = 64

export type Document = {
  source: SourceText
  /** What the text says; `undefined` when it is not JSON. */
  value: unknown
  /** What is wrong with it as JSON, whatever it was meant to be. */
  findings: Finding[]
}

export type ParseOptions = {
  /** Also accept comments, trailing commas and a byte order mark, as the files of other programs have them. */
  relaxed?: boolean
}

/** Bytes to JSON, with a finding instead of an exception for everything that can be wrong with them. */
export function parseDocument(bytes: Uint8Array, { relaxed = false }: ParseOptions = {}): Document {
  if (bytes.length > MAX_DOCUMENT_BYTES)
    return broken('', `The file has ${bytes.length} bytes; a manifest has at most ${MAX_DOCUMENT_BYTES}.`)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!isUtf8(buffer)) return notUtf8(buffer)

  const hasMark = buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf
  const text = buffer.toString('utf8', hasMark ? 3 : 0)
  if (hasMark && !relaxed)
    return broken(text, 'The file starts with a byte order mark.', { fix: 'Save it as UTF-8 without BOM.' })
  if (text.trim() === '')
    return broken(text, 'The file is empty.', { fix: 'Write a manifest into it, or do not pass it.' })
  return relaxed ? parseRelaxed(text) : parseStrict(text)
}

function parseStrict(text: string): Document {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return syntaxErrors(text, {})
  }
  return checkedTree(text, value)
}

function parseRelaxed(text: string): Document {
  if (nestingOf(text) > MAX_DEPTH) return tooDeep(text)
  const errors: ParseError[] = []
  const value: unknown = parse(text, errors, { allowTrailingComma: true })
  return errors.length > 0 ? syntaxErrors(text, { allowTrailingComma: true }) : checkedTree(text, value)
}

function checkedTree(text: string, value: unknown): Document {
  const tree = { keys: 0, poisoned: undefined as Path | undefined }
  if (!walk(value, tree, [])) return tooDeep(text)

  const source = openSourceText(text)
  const findings: Finding[] = []
  if (tree.poisoned)
    findings.push(
      finding(
        'MX001',
        'The key "__proto__" is not allowed anywhere in a document.',
        source.locate(tree.poisoned, 'key'),
        {
          path: tree.poisoned,
          fix: 'Remove the key.',
        },
      ),
    )
  // JSON.parse keeps the last of two equal keys without a word; the count gives it away.
  if (countKeys(text) !== tree.keys) findings.push(...findDuplicateKeys(source))
  return { source, value: findings.length > 0 ? undefined : value, findings }
}

/** Counts keys on the way; false when the value is nested too deeply to go on. */
function walk(value: unknown, tree: { keys: number; poisoned: Path | undefined }, path: (string | number)[]): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (path.length >= MAX_DEPTH) return false
  for (const key of Object.keys(value)) {
    path.push(key)
    if (!Array.isArray(value)) {
      tree.keys += 1
      if (key === '__proto__') tree.poisoned ??= [...path]
    }
    if (!walk((value as Record<string, unknown>)[key], tree, path)) return false
    path.pop()
  }
  return true
}

/** How many strings of a JSON text stand before a colon, found by jumping from quote to quote. */
function countKeys(text: string): number {
  let keys = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    let end = text.indexOf('"', start + 1)
    while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
    if (end === -1) break
    let next = end + 1
    while (text.charCodeAt(next) <= 32) next += 1
    if (text.charCodeAt(next) === 58) keys += 1
    start = text.indexOf('"', next)
  }
  return keys
}

function isEscaped(text: string, quote: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(quote - 1 - backslashes) === 92) backslashes += 1
  return backslashes % 2 === 1
}

function findDuplicateKeys(source: SourceText): Finding[] {
  const findings: Finding[] = []
  const seen: Set<string>[] = []
  visit(
    source.text,
    {
      onObjectBegin: () => void seen.push(new Set()),
      onObjectEnd: () => void seen.pop(),
      onObjectProperty(key, offset, length, _line, _column, pathTo) {
        const keys = seen.at(-1)
        if (keys?.has(key))
          findings.push(
            finding(
              'MX022',
              `The key ${JSON.stringify(key)} stands twice in one object.`,
              source.placeOf(offset, length),
              {
                path: [...pathTo(), key],
              },
            ),
          )
        keys?.add(key)
      },
    },
    { allowTrailingComma: true },
  )
  return findings
}

function nestingOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '[' || token === '{') deepest = Math.max(deepest, ++depth)
    else if (token === ']' || token === '}') depth -= 1
  }
  return deepest
}

const syntaxMessages: Partial<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'This is not a JSON value.',
  InvalidNumberFormat: 'This is not a JSON number.',
  PropertyNameExpected: 'A key in double quotes is expected here; JSON has no trailing commas.',
  ValueExpected: 'A value is expected here; JSON has no trailing commas.',
  ColonExpected: 'A colon is expected after the key.',
  CommaExpected: 'A comma is expected here.',
  CloseBraceExpected: 'The object is not closed; a } is missing.',
  CloseBracketExpected: 'The list is not closed; a ] is missing.',
  EndOfFileExpected: 'The document goes on after its end.',
  InvalidCommentToken: 'Comments are not allowed in JSON.',
  UnexpectedEndOfString: 'The string is not closed; a " is missing.',
  InvalidCharacter: 'A control character must be escaped inside a string.',
  InvalidEscapeCharacter: 'This is not an escape sequence of JSON.',
  InvalidUnicode: 'After \\u, four hex digits are expected.',
}

function syntaxErrors(text: string, { allowTrailingComma = false }): Document {
  if (nestingOf(text) > MAX_DEPTH) return tooDeep(text)
  const source = openSourceText(text)
  const errors: ParseError[] = []
  parse(text, errors, { allowTrailingComma, disallowComments: !allowTrailingComma })
  // One slip makes a parser stumble many times; the first place is the one worth reading.
  const [first] = errors
  const findings = [
    first ? syntaxFinding(first, source) : finding('MX001', 'The file is not valid JSON.', source.placeOf(0, 0)),
  ]
  return { source, value: undefined, findings }
}

function syntaxFinding({ error, offset, length }: ParseError, source: SourceText): Finding {
  const message = syntaxMessages[printParseErrorCode(error as ParseErrorCode)] ?? 'The file is not valid JSON.'
  return finding('MX001', message, source.placeOf(offset, length), { fix: 'Correct the JSON at this place.' })
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
    findings: [finding('MX001', message, source.placeOf(at, 1), { fix: 'Save the file as UTF-8.' })],
  }
}

function offsetOf(text: string, index: number): number {
  return Buffer.byteLength(text.slice(0, index))
}

function tooDeep(text: string): Document {
  return broken(text, `The document is nested more than ${MAX_DEPTH} levels deep.`, { fix: 'Flatten it.' })
}

function broken(text: string, message: string, options: { fix?: string } = {}): Document {
  const source = openSourceText(text)
  return { source, value: undefined, findings: [finding('MX001', message, source.placeOf(0, 0), options)] }
}

function finding(rule: RuleId, message: string, place: Place, options: { fix?: string; path?: Path } = {}): Finding {
  const { fix = rules[rule].fix, path = [] } = options
  return { rule, severity: rules[rule].severity, message, fix, pointer: formatPointer(path), ...place }
}
