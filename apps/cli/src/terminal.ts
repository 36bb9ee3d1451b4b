import { hasHiddenCharacters } from '@matrix/protocol'
import picocolors from 'picocolors'

type Stream = NodeJS.WriteStream

/** Colours only for a person at a terminal: never into a file, a pipe or a CI log. */
export function colorsFor(stream: Stream): ReturnType<typeof picocolors.createColors> {
  const { NO_COLOR, TERM } = process.env
  return picocolors.createColors(Boolean(stream.isTTY) && !NO_COLOR && TERM !== 'dumb')
}

export function print(text: string): void {
  process.stdout.write(defused(text.endsWith('\n') ? text : `${text}\n`))
}

export function printError(text: string): void {
  process.stderr.write(defused(text.endsWith('\n') ? text : `${text}\n`))
}

/** How many cells a line has. Into a file or a pipe nothing is cut or wrapped, unless COLUMNS says so. */
export function terminalWidth(): number {
  if (process.stdout.isTTY) return Math.max(40, process.stdout.columns || 80)
  const asked = Number(process.env.COLUMNS)
  return Number.isInteger(asked) && asked >= 40 ? asked : Number.MAX_SAFE_INTEGER
}

/** Some CI systems take `##[name]` for a command wherever it stands in a line. */
function defused(text: string): string {
  return text.replaceAll('##[', '# #[')
}

/** One value as one line of JSON, for programs that read a stream. */
export function printJsonLine(value: unknown): void {
  print(harmlessJson(JSON.stringify(value)))
}

/** JSON with nothing in it that a terminal would obey: hidden characters are escaped, which changes nothing for a parser. */
export function printJson(value: unknown): void {
  print(harmlessJson(JSON.stringify(value, null, 2)))
}

function harmlessJson(json: string): string {
  const text = json.replaceAll('##[', '#\\u0023[')
  return text.replace(/[^\n\x20-\x7E]+/g, (run) => (hasHiddenCharacters(run) ? escapeUnits(run) : run))
}

function escapeUnits(text: string): string {
  return text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
