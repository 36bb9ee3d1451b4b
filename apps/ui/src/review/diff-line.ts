import type { FileChange } from '@matrix/protocol/http'

export type Hunk = NonNullable<FileChange['hunks']>[number]

/** One line of a diff. `oldLine` and `newLine` are its numbers before and after, where it exists. */
export type DiffLine = {
  kind: 'context' | 'added' | 'removed' | 'note'
  text: string
  oldLine: number | undefined
  newLine: number | undefined
}

export type SplitLine = { left: DiffLine | undefined; right: DiffLine | undefined }

const linesOfHunk = new WeakMap<Hunk, DiffLine[]>()

/** The lines of a hunk with their numbers. */
export function numberLines(hunk: Hunk): readonly DiffLine[] {
  const known = linesOfHunk.get(hunk)
  if (known) return known
  let oldLine = hunk.oldStart
  let newLine = hunk.newStart
  const lines = hunk.lines.map((line): DiffLine => {
    const text = line.slice(1)
    if (line.startsWith('+')) return { kind: 'added', text, oldLine: undefined, newLine: newLine++ }
    if (line.startsWith('-')) return { kind: 'removed', text, oldLine: oldLine++, newLine: undefined }
    if (line.startsWith('\\')) return { kind: 'note', text: text.trim(), oldLine: undefined, newLine: undefined }
    return { kind: 'context', text, oldLine: oldLine++, newLine: newLine++ }
  })
  linesOfHunk.set(hunk, lines)
  return lines
}

/** Removed lines beside the added ones that took their place. */
export function pairLines(lines: readonly DiffLine[]): SplitLine[] {
  const rows: SplitLine[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1)
      rows.push({ left: removed[index], right: added[index] })
    removed = []
    added = []
  }

  for (const line of lines) {
    if (line.kind === 'removed') {
      // A removal after an addition starts another change.
      if (added.length > 0) flush()
      removed.push(line)
    } else if (line.kind === 'added') added.push(line)
    else {
      flush()
      rows.push({ left: line, right: line })
    }
  }
  flush()
  return rows
}
