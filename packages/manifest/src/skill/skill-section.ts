import type { Problem } from '../document/finding.ts'

/** Something wrong in a stretch of a text that has no paths. */
export type TextProblem = Omit<Problem, 'path' | 'at'> & { offset: number; length: number }

export type Line = { text: string; offset: number }

export type Section = { name: string; header: Line; lines: Line[] }

/** A text at its lines that start with `§`; comments, blank lines and what stands before the first section are left out. */
export function splitSections(text: string): Section[] {
  const sections: Section[] = []
  let offset = 0
  for (const line of text.split('\n')) {
    const content = withoutComment(line)
    const start = offset + content.length - content.trimStart().length
    const trimmed: Line = { text: content.trim(), offset: start }
    if (trimmed.text.startsWith('§'))
      sections.push({ name: /^§([^\s:]*)/.exec(trimmed.text)?.[1] ?? '', header: trimmed, lines: [] })
    else if (trimmed.text !== '') sections.at(-1)?.lines.push(trimmed)
    offset += line.length + 1
  }
  return sections
}

/** A comment starts the line or follows a blank, so that a `#` inside a URI would still be seen. */
function withoutComment(line: string): string {
  return line.replace(/(?<=^|\s)#.*$/s, '')
}
