import type { DiffLine, Hunk } from './diff-line.ts'
import { numberLines } from './diff-line.ts'

/** The lines a comment is about: numbers of the old or of the new file, both ends included. */
export type Anchor = { path: string; side: 'old' | 'new'; from: number; to: number }

export type ReviewComment = Anchor & { id: string; text: string; quote: string[] }

const MAX_QUOTED = 12

/** Where on a side a line stands. Lines that were removed are on the old side, all others on the new one. */
export function sideOf(line: DiffLine): { side: 'old' | 'new'; number: number } | undefined {
  if (line.newLine !== undefined) return { side: 'new', number: line.newLine }
  return line.oldLine === undefined ? undefined : { side: 'old', number: line.oldLine }
}

/** The line numbers between two clicks, whichever came first. Another file or side starts anew. */
export function extendAnchor(anchor: Anchor | undefined, path: string, line: DiffLine): Anchor | undefined {
  const place = sideOf(line)
  if (!place) return anchor
  const { side, number } = place
  if (anchor?.path !== path || anchor.side !== side) return { path, side, from: number, to: number }
  return { ...anchor, from: Math.min(anchor.from, number), to: Math.max(anchor.to, number) }
}

export function isWithin(anchor: Anchor | undefined, path: string, line: DiffLine): boolean {
  const place = sideOf(line)
  if (!anchor || !place || anchor.path !== path || anchor.side !== place.side) return false
  return place.number >= anchor.from && place.number <= anchor.to
}

/** The lines of a comment as they stand in the diff, so that the agent finds them when numbers have moved. */
export function quoteLines(anchor: Anchor, hunks: readonly Hunk[]): string[] {
  const lines = hunks.flatMap((hunk) => numberLines(hunk)).filter((line) => isWithin(anchor, anchor.path, line))
  const marks = { added: '+', removed: '-', context: ' ', note: ' ' }
  return lines.map(({ kind, text }) => `${marks[kind]}${text}`)
}

/** All comments as the one message that the agent gets. */
export function formatReview(comments: readonly ReviewComment[], review: { head: string; summary: string }): string {
  const intro = review.summary.trim()
  const count = comments.length === 1 ? 'One comment' : `${comments.length} comments`
  const sorted = [...comments].sort((a, b) => (a.path === b.path ? a.from - b.from : a.path < b.path ? -1 : 1))
  return [
    ...(intro === '' ? [] : [intro]),
    ...(comments.length === 0 ? [] : [`${count} on your changes at ${review.head.slice(0, 10)}:`]),
    ...sorted.map(formatComment),
  ].join('\n\n')
}

function formatComment(comment: ReviewComment): string {
  const shown = comment.quote.slice(0, MAX_QUOTED).map((line) => `> ${line}`)
  const rest = comment.quote.length - shown.length
  return [
    `${formatAnchor(comment)}`,
    ...shown,
    ...(rest > 0 ? [`> … ${rest} more lines`] : []),
    '',
    comment.text.trim(),
  ].join('\n')
}

export function formatAnchor({ path, side, from, to }: Anchor): string {
  const lines = from === to ? `${from}` : `${from}-${to}`
  return `${path}:${lines}${side === 'old' ? ' (before the change)' : ''}`
}

/** What the agent is asked when its branch does not merge. */
export function formatConflictRequest(targetBranch: string, files: readonly string[]): string {
  return [
    `Your branch conflicts with ${targetBranch} in:`,
    '',
    ...files.map((file) => `- ${file}`),
    '',
    `Bring ${targetBranch} into your branch and resolve the conflicts. Keep what both sides intended; where they contradict each other, say which one you chose and why. Run the tests, then commit.`,
  ].join('\n')
}
