import { type Body, block, type Display, type DisplayOptions, type SearchRow } from './display.ts'
import { plural } from './quantity.ts'

/** Takes the line numbers of read_file off again: whoever shows a file numbers its lines in its own way. */
export function fileBody(
  path: string,
  text: string,
  options: DisplayOptions,
): { lines: number; bodies: Body[] } | undefined {
  const all = text.split('\n')
  const numbered = all.map((row) => /^ {0,5}(\d+)\t(.*)$/s.exec(row))
  const shown = numbered.flatMap((match) => (match ? [match[2] ?? ''] : []))
  const notes = all.filter((row, index) => !numbered[index] && row !== '').join('\n')
  const first = numbered.find((match) => match !== null)
  if (!first) return undefined
  const file: Body = {
    kind: 'file',
    path: block(path, options),
    firstLine: Number(first[1]),
    text: block(shown.join('\n'), options),
  }
  return {
    lines: shown.length,
    bodies: notes === '' ? [file] : [file, { kind: 'text', text: block(notes, options) }],
  }
}

/** `path:line:text` as rows; paths alone, and what the tool says about its own answer, stay as they are. */
export function searchBody(text: string, noun: string, options: DisplayOptions): Partial<Display> {
  const shown = block(text, options).split('\n')
  const rows = shown.map((row) => readRow(row, noun === 'file'))
  const places = text.split('\n').filter((row) => row !== '' && !isNote(row)).length
  if (/^(?:No files match|Nothing matches)\.$/.test(text.trim())) return { summary: text, bodies: [], tone: 'muted' }
  return {
    summary: plural(places, noun, noun === 'match' ? 'matches' : `${noun}s`),
    bodies: [{ kind: 'search', rows }],
  }
}

function readRow(row: string, isPath: boolean): SearchRow {
  if (isNote(row)) return { path: null, line: null, text: row }
  if (isPath) return { path: row, line: null, text: '' }
  const [, path, line, text] = /^(.+?):(\d+):(.*)$/s.exec(row) ?? []
  if (path === undefined) return { path: null, line: null, text: row }
  return { path, line: Number(line), text: text ?? '' }
}

function isNote(row: string): boolean {
  return /^(?:\[.*\]|… [\d,]+ characters left out …)$/.test(row)
}
