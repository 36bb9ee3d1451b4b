import { type DiffPart, diffWords } from '../parts/word-diff.ts'

/** A piece of what changed in a server's tools: words around it, or what was agreed to against what was found. */
export type DriftPart = { kind: 'text'; text: string } | { kind: 'change'; parts: DiffPart[] }

/** Reads a text diff; lines that were taken out are held against those that came in their place, word by word. */
export function toDriftParts(diff: string): DriftPart[] {
  const parts: DriftPart[] = []
  let removed: string[] = []
  let added: string[] = []
  const flush = () => {
    if (removed.length + added.length > 0)
      parts.push({ kind: 'change', parts: diffWords(removed.join('\n'), added.join('\n')) })
    removed = []
    added = []
  }

  for (const line of diff.split('\n')) {
    if (/^(---|\+\+\+) /.test(line)) continue
    if (line.startsWith('-')) {
      if (added.length > 0) flush()
      removed.push(line.slice(1))
    } else if (line.startsWith('+')) added.push(line.slice(1))
    else {
      flush()
      if (line.trim() !== '') parts.push({ kind: 'text', text: line.replace(/^@@ (.*) @@$/, '$1').trim() })
    }
  }
  flush()
  return parts
}
