type Snippet = { text: string; marks: [number, number][] }
type Part = { text: string; isMarked: boolean; start: number }

/** A snippet cut where its marks begin and end, in words for people. Marks that overlap or point nowhere do no harm. */
export function markedParts({ text, marks }: Snippet): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const [start, end] of marks.toSorted(([one], [other]) => one - other)) {
    const from = Math.max(start, at)
    const to = Math.min(end, text.length)
    if (to <= from) continue
    if (from > at) parts.push({ text: readable(text.slice(at, from)), isMarked: false, start: at })
    parts.push({ text: text.slice(from, to), isMarked: true, start: from })
    at = to
  }
  if (at < text.length) parts.push({ text: readable(text.slice(at)), isMarked: false, start: at })
  return parts
}

/** What is indexed names tools and ends of tasks as programs do. */
function readable(text: string): string {
  return text.replace(/\bmcp__[a-z0-9-]+__/g, '').replace(/^done_(passed|failed)\b/, '$1:')
}
