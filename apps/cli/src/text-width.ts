import { stripVTControlCharacters } from 'node:util'

/** Characters that take two cells, or none, in a terminal. Rare enough to be looked for only where there is one. */
const wide =
  /[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]/u
const noWidth = /\p{Mn}|\p{Me}|\u200D/u

/** How many cells a text takes in a terminal; colours take none. */
export function textWidth(text: string): number {
  const plain = text.includes('\u001B') ? stripVTControlCharacters(text) : text
  if (/^[\x20-\x7E]*$/.test(plain)) return plain.length
  let width = 0
  for (const character of plain) width += cells(character)
  return width
}

/** Cut to so many cells, with an ellipsis if something is left out. For text without colours. */
export function fitWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  if (width < 1) return ''
  let used = 1
  let kept = ''
  for (const character of text) {
    used += cells(character)
    if (used > width) break
    kept += character
  }
  return `${kept.trimEnd()}…`
}

export function padWidth(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

/** Words broken into lines of at most so many cells; what is longer than a line stays whole, so that it can be copied. */
export function wrapText(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => wrapLine(paragraph, width))
}

function wrapLine(paragraph: string, width: number): string[] {
  if (textWidth(paragraph) <= width) return [paragraph]
  const indent = /^\s*(?:[-*] |\d+\. )?/.exec(paragraph)?.[0] ?? ''
  const lines: string[] = []
  let current = indent
  for (const word of paragraph.slice(indent.length).split(' ')) {
    const next = current.trim() === '' || current === indent ? `${current}${word}` : `${current} ${word}`
    if (textWidth(next) > width && current.trim() !== '') {
      lines.push(current)
      current = `${' '.repeat(indent.length)}${word}`
    } else current = next
  }
  return [...lines, current]
}

function cells(character: string): number {
  if (noWidth.test(character)) return 0
  return wide.test(character) ? 2 : 1
}
