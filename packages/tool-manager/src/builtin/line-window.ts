/** Takes text in pieces of any size and keeps some of its lines, numbered, in bounded memory. */
export type LineWindow = {
  add(text: string): void
  /** Adds a last line that no newline ends. */
  finish(): void
  isFull(): boolean
  /** Whether something was handed over that no longer fitted. */
  hasRest(): boolean
  hasCutLines(): boolean
  /** How many lines went by. */
  seen(): number
  text(): string
}

export type LineWindowOptions = { first: number; count: number; maxLineLength: number; maxLength: number }

export function openLineWindow({ first, count, maxLineLength, maxLength }: LineWindowOptions): LineWindow {
  const kept: string[] = []
  let length = 0
  let number = 1
  let line = ''
  let isLineCut = false
  let cutAny = false
  let rest = false

  const isFull = () => kept.length >= count || length >= maxLength

  function extend(part: string): void {
    const room = maxLineLength - line.length
    if (part.length > room) isLineCut = true
    line += part.slice(0, Math.max(0, room))
  }

  function endLine(): void {
    if (number >= first && !isFull()) {
      const shown = `${String(number).padStart(6)}\t${line}${isLineCut ? '…' : ''}`
      kept.push(shown)
      length += shown.length + 1
      cutAny ||= isLineCut
    }
    number += 1
    line = ''
    isLineCut = false
  }

  /** Lines before the first one that is wanted are only counted. */
  function skip(text: string): number {
    let at = 0
    while (number < first) {
      const newline = text.indexOf('\n', at)
      if (newline < 0) {
        line = text.length > at ? 'x' : line
        return text.length
      }
      at = newline + 1
      number += 1
      line = ''
    }
    return at
  }

  return {
    add(text) {
      let at = skip(text)
      while (!isFull()) {
        const newline = text.indexOf('\n', at)
        extend(newline < 0 ? text.slice(at, at + maxLineLength + 1) : text.slice(at, newline))
        if (newline < 0) return
        endLine()
        at = newline + 1
      }
      rest ||= at < text.length
    },
    finish() {
      if (line !== '') endLine()
    },
    isFull,
    hasRest: () => rest,
    hasCutLines: () => cutAny,
    seen: () => number - 1,
    text: () => kept.join('\n'),
  }
}
