import { removedNote, removeInvisible } from '@matrix/protocol'
import type { UserPart } from './message-text.ts'

/** A part as a reader sees it: whatever is said to a model, by whom and in whichever way, holds nothing invisible. */
export function seenParts(part: UserPart): UserPart[] {
  if (part.type !== 'text') return [part]
  const { text, removed } = removeInvisible(part.text)
  if (removed === 0) return [part]
  const note = { type: 'text' as const, text: removedNote(removed) }
  // Providers refuse a text that is empty.
  return text.trim() === '' ? [note] : [{ type: 'text', text }, note]
}
