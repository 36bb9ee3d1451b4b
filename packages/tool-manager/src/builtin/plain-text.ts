import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'

/** Turns what a program prints for a terminal into plain lines: no colours, and of a line that was drawn over only its last state. */
export type PlainText = {
  /** The whole lines that this piece completes. */
  add(chunk: Buffer): string
  /** The line that is not complete yet. */
  line(): string
  /** What is left at the end. */
  finish(): string
}

/** A line longer than this is handed on in pieces. */
const MAX_LINE = 64 << 10
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const control = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const dropped = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g

export function openPlainText(): PlainText {
  const decoder = new StringDecoder('utf8')
  let line = ''

  function take(fresh: string): string {
    const end = fresh.lastIndexOf('\n') + 1
    const whole = end > 0 ? line + fresh.slice(0, end) : ''
    line = dropDrawnOver(end > 0 ? fresh.slice(end) : line + fresh)
    if (line.length <= MAX_LINE) return cleanText(whole)
    const long = line
    line = ''
    return cleanText(whole + long)
  }

  return {
    add: (chunk) => take(decoder.write(chunk)),
    line: () => cleanText(line),
    finish() {
      const rest = cleanText(line + decoder.end())
      line = ''
      return rest
    },
  }
}

/** Plain text of something printed, newlines and tabs kept. */
export function cleanText(text: string): string {
  if (!control.test(text)) return text
  return stripVTControlCharacters(text)
    .split('\n')
    .map((line) => lastState(line).replace(dropped, ''))
    .join('\n')
}

/** A carriage return draws the line again; one at its end only belongs to the newline. */
function lastState(line: string): string {
  const drawn = line.replace(/\r+$/, '')
  return drawn.slice(drawn.lastIndexOf('\r') + 1)
}

/** A progress bar may draw one line for hours. */
function dropDrawnOver(line: string): string {
  const before = line.lastIndexOf('\r', line.length - 2)
  return before > 0 ? line.slice(before) : line
}
