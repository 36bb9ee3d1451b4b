type Snippet = { text: string; marks: [number, number][] }
type Part = { text: string; isMarked: boolean; start: number }

/** A snippet cut where its marks begin and end. Marks that overlap or point nowhere do no harm. */
export function markedParts({ text, marks }: Snippet): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const [start, end] of marks.toSorted(([one], [other]) => one - other)) {
    const from = Math.max(start, at)
    const to = Math.min(end, text.length)
    if (to <= from) continue
    if (from > at) parts.push({ text: text.slice(at, from), isMarked: false, start: at })
    parts.push({ text: text.slice(from, to), isMarked: true, start: from })
    at = to
  }
  if (at < text.length) parts.push({ text: text.slice(at), isMarked: false, start: at })
  return parts
}
