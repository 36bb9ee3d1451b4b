import { readText } from '../document/document-text.ts'
import { type Finding, findingAt, formatPointer, type Mode } from '../document/finding.ts'
import { isRecord, type JsonRecord } from '../document/json-record.ts'
import { openSourceText, type SourceText } from '../document/source-text.ts'
import type { TextProblem } from '../skill/skill-section.ts'
import { readYaml, type YamlValue } from './yaml-value.ts'

/** A Markdown file that starts with YAML between two lines of `---`. */
export type FrontMatter = {
  /** Places are those of the file; paths those of the front matter. */
  source: SourceText
  /** Undefined where there is none that could be read. */
  fields: JsonRecord | undefined
  /** What follows, without blank lines around it. */
  body: string
  findings: Finding[]
}

/** Far above any that people write, so that a parser has nothing to choke on. */
const MAX_FRONT_MATTER = 64 * 1024

const opening = /^---[ \t]*\r?\n/
const closing = /^(?:---|\.\.\.)[ \t]*\r?$/m

/** Bytes to front matter and body, with a finding instead of an exception for everything that can be wrong with them. */
export function parseFrontMatter(
  bytes: Uint8Array,
  { mode = 'default' }: { mode?: Mode | undefined } = {},
): FrontMatter {
  const read = readText(bytes)
  if ('refusal' in read) return { ...read.refusal, fields: undefined, body: '' }
  const { text } = read
  const plain = openSourceText(text)
  const refused = (problem: TextProblem): FrontMatter => ({
    source: plain,
    fields: undefined,
    body: '',
    findings: [placed(problem, plain, mode)],
  })

  const start = opening.exec(text)?.[0].length
  if (start === undefined)
    return refused(
      without(
        'The file does not start with ---, so it has no front matter.',
        'Start it with a line of ---, the fields, and another line of ---.',
      ),
    )
  const end = closing.exec(text.slice(start, start + MAX_FRONT_MATTER))
  if (!end)
    return refused(
      without(
        `No line of --- ends the front matter within ${MAX_FRONT_MATTER} characters.`,
        'End it with a line of ---.',
      ),
    )

  const { value, problems, spans } = readFields(text.slice(start, start + end.index), start)
  const source = locating(plain, spans)
  const findings = problems.map((problem) => placed(problem, plain, mode))
  const body = text.slice(start + end.index + end[0].length).trim()
  if (value === undefined && problems.length > 0) return { source, fields: undefined, body, findings }
  if (value !== undefined && value !== null && !isRecord(value))
    return refused(without('The front matter is no list of fields.', 'Write name: and a value on each line.'))
  return { source, fields: (value ?? {}) as JsonRecord, body, findings }
}

/** Many files hold a colon in a description without quotes, which other programs read as the text that is meant. */
function readFields(text: string, start: number): YamlValue {
  const read = readYaml(text, start)
  const [first] = read.problems
  if (!first) return read
  const repaired = quoteLines(text)
  if (!repaired) return read
  const again = readYaml(repaired.text)
  if (again.problems.length > 0) return read
  const toFile = (offset: number) => start + repaired.originOf(offset)
  const spans = new Map(
    [...again.spans].map(([pointer, { key, value }]) => {
      const moved = (span: typeof value) => ({
        offset: toFile(span.offset),
        length: toFile(span.offset + span.length) - toFile(span.offset),
      })
      return [pointer, { ...(key && { key: moved(key) }), value: moved(value) }]
    }),
  )
  const fix = 'Matrix reads the line as text. Put the value in quotes for programs that do not.'
  return { value: again.value, spans, problems: [{ ...first, severity: 'warning', message: colon, fix }] }
}

const colon = 'A value without quotes holds a colon or a #, which YAML does not read as text.'
const field = /^([A-Za-z][\w-]*:[ \t]+)([^\s"'[{|>&*!][^\r\n]*)\r?$/

/** The text with the value of each plain field in quotes, and where each place of it comes from. */
function quoteLines(text: string): { text: string; originOf(offset: number): number } | undefined {
  const edits: { at: number; was: number; is: number }[] = []
  let written = 0
  const lines = text.split('\n').map((line) => {
    const [, key = '', rest = ''] = field.exec(line) ?? []
    const value = rest.trimEnd()
    const quoted = /: |:$| #/.test(value) ? JSON.stringify(value) : undefined
    const result = quoted === undefined ? line : `${key}${quoted}`
    if (quoted !== undefined) edits.push({ at: written + key.length, was: value.length, is: quoted.length })
    written += result.length + 1
    return result
  })
  if (edits.length === 0) return undefined
  return {
    text: lines.join('\n'),
    originOf(place) {
      let shift = 0
      for (const { at, was, is } of edits) {
        if (place < at) break
        if (place < at + is) return Math.min(place, at + was) - shift
        shift += is - was
      }
      return place - shift
    },
  }
}

function locating(source: SourceText, spans: YamlValue['spans']): SourceText {
  return {
    ...source,
    locate(path, at = 'value') {
      for (let length = path.length; length > 0; length -= 1) {
        const found = spans.get(formatPointer(path.slice(0, length)))
        const isWhole = length === path.length
        const span = found && (at === 'key' || !isWhole ? (found.key ?? found.value) : found.value)
        if (span) return source.placeOf(span.offset, span.length)
      }
      return source.placeOf(0, 0)
    },
  }
}

function without(message: string, fix: string): TextProblem {
  return { rule: 'MX001', offset: 0, length: 0, message, fix }
}

function placed({ offset, length, ...problem }: TextProblem, source: SourceText, mode: Mode): Finding {
  return findingAt({ pointer: '', ...source.placeOf(offset, length) }, problem, mode)
}
