import { memo } from 'react'
import { areAlike, type DiffPart, diffWords } from '../parts/word-diff.ts'
import type { DiffLine } from './diff-line.ts'

const longest = 2000

type DiffTextProps = { line: DiffLine; partner: DiffLine | undefined }

/** A line of code; against the line it took the place of, the words that changed stand out. */
export const DiffText = memo(function DiffText({ line, partner }: DiffTextProps) {
  const text =
    line.text.length > longest ? `${line.text.slice(0, longest)}… (${line.text.length} characters)` : line.text
  const parts = partner ? changedParts(line, partner) : undefined
  if (!parts) return <>{text || ' '}</>
  const look = line.kind === 'added' ? 'rounded-[3px] bg-ok/25' : 'rounded-[3px] bg-bad/25'
  return parts.map((part, index) =>
    part.kind === 'same' ? (
      part.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the words of a line never move.
      <span key={index} className={look}>
        {part.text}
      </span>
    ),
  )
})

function changedParts(line: DiffLine, partner: DiffLine): DiffPart[] | undefined {
  if (line.text.length > longest || partner.text.length > longest) return undefined
  const [before, after] = line.kind === 'removed' ? [line.text, partner.text] : [partner.text, line.text]
  const parts = diffWords(before, after)
  if (!areAlike(parts)) return undefined
  const other = line.kind === 'removed' ? 'added' : 'removed'
  return parts.filter(({ kind }) => kind !== other)
}
