import type { Body, Display } from '@matrix/protocol/display'
import type { colorsFor } from './terminal.ts'
import { fitWidth, wrapText } from './text-width.ts'

type Colors = ReturnType<typeof colorsFor>

export type LineOptions = {
  width: number
  colors: Colors
  /** When it happened, shown beside words that are read whole. */
  at?: string
  /** Shows what tools were asked and answered in full, and what is only for the curious. */
  verbose: boolean
}

/** One event for a terminal: nothing at all where it would only distract. */
export function formatDisplay(shown: Display, options: LineOptions): string[] {
  if (shown.weight === 'trace' && !options.verbose) return []
  return shown.isSpeech ? spoken(shown, options) : noted(shown, options)
}

function spoken(shown: Display, options: LineOptions): string[] {
  const { colors } = options
  const name = {
    user: colors.cyan,
    agent: colors.magenta,
    task: colors.blue,
    tool: colors.dim,
    system: tint(shown, colors),
  }
  return [
    `${name[shown.speaker](colors.bold(shown.title))}${options.at ? colors.dim(`  ${clockTime(options.at)}`) : ''}${markOf(shown, colors)}`,
    ...shown.bodies.flatMap((body) => formatBody(body, options)).map((text) => `  ${text}`),
  ]
}

function noted(shown: Display, options: LineOptions): string[] {
  const { colors, width, verbose } = options
  const isAnswer = shown.speaker === 'tool'
  const mark = isAnswer ? '  └ ' : shown.speaker === 'agent' ? '▸ ' : '· '
  const title = isAnswer ? '' : `${shown.title} `
  const seal = markOf(shown, colors)
  const room = width - mark.length - title.length - (shown.mark === undefined ? 0 : shown.mark.length + 2)
  const summary = fitWidth(shown.summary, Math.max(20, room))
  const paint = tint(shown, colors)
  const head = isAnswer ? paint(`${mark}${summary}`) : `${paint(mark)}${paint(title)}${summary}`
  const bodies = verbose ? shown.bodies.flatMap((body) => formatBody(body, options)).map((text) => `    ${text}`) : []
  return [`${head.trimEnd()}${seal}`, ...bodies]
}

/** Quiet, and at the end of its line. */
function markOf({ mark }: Display, { yellow }: Colors): string {
  return mark === undefined ? '' : `  ${yellow(mark)}`
}

function tint({ tone, speaker }: Display, colors: Colors): (text: string) => string {
  const tones = { good: colors.green, bad: colors.red, warning: colors.yellow, muted: colors.dim }
  if (tone !== 'plain') return tones[tone]
  return speaker === 'tool' ? colors.dim : colors.bold
}

function formatBody(body: Body, { colors, width }: LineOptions): string[] {
  const room = Math.max(20, width - 4)
  switch (body.kind) {
    case 'text':
      return wrapText(body.text, room)
    case 'command':
      return [
        ...(body.command === null
          ? []
          : body.command.split('\n').map((text, index) => `${index === 0 ? '$' : ' '} ${text}`)),
        ...(body.output === null || body.output === '' ? [] : body.output.split('\n').map((text) => colors.dim(text))),
      ]
    case 'diff':
      return body.lines.map((text) => paintPatch(text, colors))
    case 'file': {
      const lines = body.text.split('\n')
      const gutter = String(body.firstLine + lines.length - 1).length
      return lines.map((text, index) => `${colors.dim(String(body.firstLine + index).padStart(gutter))} ${text}`)
    }
    case 'search':
      return body.rows.map(({ path, line, text }) =>
        path === null ? colors.dim(text) : `${colors.cyan(path)}${line === null ? '' : colors.dim(`:${line}:`)}${text}`,
      )
    case 'image':
      return [colors.dim(`[${body.mediaType}, ${Math.round((body.data.length * 3) / 4096)} kB]`)]
    case 'json':
      return body.text.split('\n')
    default:
      return body satisfies never
  }
}

/** The time of day where the reader is; the day as well when it is another one. */
function clockTime(at: string): string {
  const moment = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`
  if (moment.toDateString() === new Date().toDateString()) return time
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())} ${time}`
}

export function paintPatch(text: string, colors: Colors): string {
  if (text.startsWith('+')) return colors.green(text)
  if (text.startsWith('-')) return colors.red(text)
  return text.startsWith('@@') ? colors.cyan(text) : text
}
