import { block, type DisplayOptions } from './display.ts'

const CONTEXT = 3

/** One replacement as the lines of a patch; equal lines around it are kept as context, a few of them. */
export function editLines(before: string, after: string, options: DisplayOptions): string[] {
  const old = linesOf(before, options)
  const now = linesOf(after, options)
  const shared = Math.min(old.length, now.length)
  let start = 0
  while (start < shared && old[start] === now[start]) start += 1
  let end = 0
  while (end < shared - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1
  return [
    ...marked(' ', old.slice(Math.max(0, start - CONTEXT), start)),
    ...marked('-', old.slice(start, old.length - end)),
    ...marked('+', now.slice(start, now.length - end)),
    ...marked(' ', old.slice(old.length - end, old.length - end + CONTEXT)),
  ]
}

/** The lines of a patch as git prints it, or nothing where a text is none. */
export function patchLines(text: string, options: DisplayOptions): string[] | undefined {
  return /^(?:diff --git |@@ |--- )/m.test(text) ? block(text, options).split('\n') : undefined
}

function linesOf(text: string, options: DisplayOptions): string[] {
  return text === '' ? [] : block(text, options).split('\n')
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.map((text) => `${mark}${text}`)
}
