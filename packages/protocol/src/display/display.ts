import { printable, printableLine } from '../hidden-characters.ts'

/** What a reader should feel before reading. */
export type Tone = 'plain' | 'good' | 'bad' | 'warning' | 'muted'

export type Speaker = 'user' | 'agent' | 'task' | 'tool' | 'system'

/** Who needs to see it: everyone who follows the work, who looks closer, or who looks for a fault in Matrix. */
export type Weight = 'main' | 'detail' | 'trace'

/** One line of a search: where it is, and what stands there. A line that names no place has only text. */
export type SearchRow = { path: string | null; line: number | null; text: string }

/** What is worth more than one line. Every text in it is safe for a terminal and of bounded length. */
export type Body =
  | { kind: 'text'; text: string }
  | { kind: 'command'; command: string | null; output: string | null }
  /** Each line starts with ' ', '+' or '-', as in a patch. */
  | { kind: 'diff'; path: string | null; lines: string[] }
  | { kind: 'file'; path: string; firstLine: number; text: string }
  | { kind: 'search'; rows: SearchRow[] }
  | { kind: 'image'; mediaType: string; data: string }
  | { kind: 'json'; text: string }
export type BodyKind = Body['kind']

/** An event as a person reads it, in a terminal and in a browser alike. `title` and `summary` are one line each. */
export type Display = {
  speaker: Speaker
  weight: Weight
  /** Words that are read whole, such as what people and agents say; everything else is a line that can be opened. */
  isSpeech: boolean
  tone: Tone
  title: string
  summary: string
  bodies: Body[]
  /** That its content is not trusted, and where it came from. */
  mark?: string
}

export type DisplayOptions = {
  /** What a task is called; its id is shown where nobody knows. */
  titleOf?: (taskId: string) => string | undefined
  /** The most characters of one body; what is longer loses its middle, and says so. */
  maxLength?: number
}

const MAX_TITLE = 120
const MAX_SUMMARY = 240
const MAX_BODY = 20_000

/** Fills in what most displays have in common, and makes the one-liners fit for one line. */
export function display(parts: Pick<Display, 'speaker' | 'title'> & Partial<Display>): Display {
  return {
    weight: 'main',
    isSpeech: false,
    tone: 'plain',
    bodies: [],
    ...parts,
    title: line(parts.title, MAX_TITLE),
    summary: line(parts.summary ?? '', MAX_SUMMARY),
  }
}

/** The whole display on one line, where there is no room for more. */
export function oneLine({ title, summary }: Display): string {
  return summary === '' ? title : `${title}: ${summary}`
}

/** The first words of a text, on one line, with nothing hidden in them. */
export function line(text: string, max: number): string {
  const flat = printableLine(head(text, max * 4))
    .replace(/ {2,}/g, ' ')
    .trim()
  return flat.length > max ? `${head(flat, max - 1).trimEnd()}…` : flat
}

/** Text from outside, whole or without its middle: how something starts and how it ends is what is looked for. */
export function block(text: string, { maxLength = MAX_BODY }: DisplayOptions): string {
  const trimmed = text.trimEnd()
  if (trimmed.length <= maxLength) return printable(trimmed)
  const start = head(trimmed, Math.ceil(maxLength * 0.6))
  const end = tail(trimmed, Math.floor(maxLength * 0.4))
  const left = trimmed.length - start.length - end.length
  return `${printable(start)}\n… ${left.toLocaleString('en')} characters left out …\n${printable(end)}`
}

/** Words for people, which may be Markdown; nothing when there are none. */
export function prose(text: string, options: DisplayOptions): Body[] {
  return text.trim() === '' ? [] : [{ kind: 'text', text: block(text.trim(), options) }]
}

/** A value as JSON, for people; what JSON cannot say is named. */
export function json(value: unknown, options: DisplayOptions): Body {
  return { kind: 'json', text: block(JSON.stringify(value, null, 2) ?? String(value), options) }
}

/** A character outside the basic plane is two units long, and half of one is nothing. */
function head(text: string, length: number): string {
  return text.slice(0, isLowSurrogate(text, length) ? length - 1 : length)
}

function tail(text: string, length: number): string {
  const from = text.length - length
  return text.slice(isLowSurrogate(text, from) ? from + 1 : from)
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}
