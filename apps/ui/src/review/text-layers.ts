import type { Token } from '../parts/colours.tsx'
import type { DiffPart } from '../parts/word-diff.ts'

type Piece = { text: string; isChanged: boolean; token: Token | undefined }

/** One line cut wherever its colour or its being changed begins or ends. Without tokens it has no colours. */
export function layOver(parts: readonly DiffPart[], tokens: readonly Token[]): Piece[] {
  const pieces: Piece[] = []
  let index = 0
  let used = 0
  for (const { kind, text } of parts)
    for (let at = 0; at < text.length; ) {
      const token = tokens[index]
      const length = Math.min(text.length - at, token ? token.content.length - used : text.length)
      if (length > 0) pieces.push({ text: text.slice(at, at + length), isChanged: kind !== 'same', token })
      at += length
      used += length
      if (token && used >= token.content.length) {
        index += 1
        used = 0
      }
    }
  return pieces
}
