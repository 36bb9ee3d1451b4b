import { useEffect, useState } from 'react'
import { colourPatch, languageOf, type Token } from '../parts/colours.tsx'
import { type DiffLine, type Hunk, numberLines } from './diff-line.ts'
import type { ReviewItem } from './review-items.ts'

const coloursOf = new WeakMap<DiffLine, readonly Token[]>()
const begun = new WeakSet<Hunk>()

/** The colours of the lines that are looked at. They come a moment after the lines, one hunk at a time. */
export function useLineColours(
  shown: readonly (ReviewItem | undefined)[],
): (line: DiffLine | undefined) => readonly Token[] | undefined {
  const [, setArrived] = useState(0)
  useEffect(() => {
    for (const item of shown)
      if (item && 'hunk' in item && !begun.has(item.hunk)) {
        begun.add(item.hunk)
        void colourHunk(item.hunk, item.file.path).then(() => setArrived((count) => count + 1))
      }
  })
  return (line) => line && coloursOf.get(line)
}

async function colourHunk(hunk: Hunk, path: string): Promise<void> {
  const colours = await colourPatch(hunk.lines, languageOf(path))
  numberLines(hunk).forEach((line, index) => {
    const tokens = colours?.[index]
    if (tokens) coloursOf.set(line, tokens)
  })
}
