import { createScanner, type ParseError, type ParseErrorCode, parse, printParseErrorCode, visit } from 'jsonc-parser'
import { type Document, findingAtPlace, MAX_DEPTH, readText, refuse, tooDeep } from './document-text.ts'
import { type Finding, limitFindings } from './finding.ts'
import { quoteText } from './quoted-text.ts'
import { openSourceText, type Path, type Place, type SourceText } from './source-text.ts'

export { type Document, MAX_DEPTH, MAX_DOCUMENT_BYTES } from './document-text.ts'

export type ParseOptions = {
  /** Also accept comments, trailing commas and a byte order mark, as the files of other programs have them. */
  relaxed?: boolean
}

/** Bytes to JSON, with a finding instead of an exception for everything that can be wrong with them. */
export function parseDocument(bytes: Uint8Array, { relaxed = false }: ParseOptions = {}): Document {
  const read = readText(bytes)
  if ('refusal' in read) return read.refusal
  const { text, hasMark } = read
  if (hasMark && !relaxed)
    return refuse(text, 'The file starts with a byte order mark.', { fix: 'Save it as UTF-8 without BOM.' })
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
  if (errors.length > 0) return syntaxErrors(text, { allowTrailingComma: true })
  // Neither shows in the value: the parser obeys "__proto__", and quotes in comments make counting keys useless.
  return withoutForbiddenKeys(openSourceText(text), value)
}

function checkedTree(text: string, value: unknown): Document {
  const tree = { keys: 0, isPoisoned: false }
  if (!walk(value, tree, 0)) return tooDeep(text)

  const source = openSourceText(text)
  // JSON.parse keeps the last of two equal keys without a word; the count gives it away.
  return tree.isPoisoned || countKeys(text) !== tree.keys
    ? withoutForbiddenKeys(source, value)
    : { source, value, findings: [] }
}

/** Counts keys on the way; false when the value is nested too deeply to go on. */
function walk(value: unknown, tree: { keys: number; isPoisoned: boolean }, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth >= MAX_DEPTH) return false
  if (Array.isArray(value)) return value.every((item) => walk(item, tree, depth + 1))
  for (const key of Object.keys(value)) {
    tree.keys += 1
    if (key === '__proto__') tree.isPoisoned = true
    if (!walk((value as Record<string, unknown>)[key], tree, depth + 1)) return false
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

function withoutForbiddenKeys(source: SourceText, value: unknown): Document {
  const findings = findForbiddenKeys(source)
  return { source, value: findings.length > 0 ? undefined : value, findings }
}

function findForbiddenKeys(source: SourceText): Finding[] {
  const findings: Finding[] = []
  const seen: Set<string>[] = []
  visit(
    source.text,
    {
      onObjectBegin: () => void seen.push(new Set()),
      onObjectEnd: () => void seen.pop(),
      onObjectProperty(key, offset, length, _line, _column, pathTo) {
        const place = () => [source.placeOf(offset, length), [...pathTo(), key]] as const
        if (key === '__proto__') findings.push(poisonedKey(...place()))
        else if (seen.at(-1)?.has(key)) findings.push(duplicateKey(key, ...place()))
        seen.at(-1)?.add(key)
      },
    },
    { allowTrailingComma: true },
  )
  return limitFindings(findings)
}

function poisonedKey(place: Place, path: Path): Finding {
  const message = 'The key "__proto__" is not allowed anywhere in a document.'
  return findingAtPlace('MX001', message, place, { path, fix: 'Remove the key.' })
}

function duplicateKey(key: string, place: Place, path: Path): Finding {
  return findingAtPlace('MX022', `The key ${quoteText(key)} stands twice in one object.`, place, { path })
}

/** Found with a scanner and not with a parser, which would run out of stack on what this is there to refuse. */
function nestingOf(text: string): number {
  const scanner = createScanner(text, true)
  let depth = 0
  let deepest = 0
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const start = text[scanner.getTokenOffset()]
    if (start === '{' || start === '[') deepest = Math.max(deepest, ++depth)
    else if (start === '}' || start === ']') depth -= 1
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
    first ? syntaxFinding(first, source) : findingAtPlace('MX001', 'The file is not valid JSON.', source.placeOf(0, 0)),
  ]
  return { source, value: undefined, findings }
}

function syntaxFinding({ error, offset, length }: ParseError, source: SourceText): Finding {
  const message = syntaxMessages[printParseErrorCode(error as ParseErrorCode)] ?? 'The file is not valid JSON.'
  return findingAtPlace('MX001', message, source.placeOf(offset, length), { fix: 'Correct the JSON at this place.' })
}
