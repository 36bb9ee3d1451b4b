import { memo } from 'react'
import { colourStyle, type Token } from '../parts/colours.tsx'
import { areAlike, type DiffPart, diffWords } from '../parts/word-diff.ts'
import type { DiffLine } from './diff-line.ts'
import { layOver } from './text-layers.ts'

const longest = 2000

type DiffTextProps = { line: DiffLine; partner: DiffLine | undefined; tokens: readonly Token[] | undefined }

/** A line of code in its colours; against the line it took the place of, the words that changed stand out. */
export const DiffText = memo(function DiffText({ line, partner, tokens }: DiffTextProps) {
  if (line.text === '') return ' '
  if (line.text.length > longest) return `${line.text.slice(0, longest)}… (${line.text.length} characters)`
  const parts = (partner && changedParts(line, partner)) ?? [{ kind: 'same' as const, text: line.text }]
  const mark = line.kind === 'added' ? 'rounded-[3px] bg-ok/25' : 'rounded-[3px] bg-bad/25'
  return layOver(parts, tokens ?? []).map(({ text, isChanged, token }, index) => (
    <span
      // biome-ignore lint/suspicious/noArrayIndexKey: the words of a line never move.
      key={index}
      className={isChanged ? mark : undefined}
      style={token && colourStyle(token)}
    >
      {text}
    </span>
  ))
})

function changedParts(line: DiffLine, partner: DiffLine): DiffPart[] | undefined {
  if (partner.text.length > longest) return undefined
  const [before, after] = line.kind === 'removed' ? [line.text, partner.text] : [partner.text, line.text]
  const parts = diffWords(before, after)
  if (!areAlike(parts)) return undefined
  const other = line.kind === 'removed' ? 'added' : 'removed'
  return parts.filter(({ kind }) => kind !== other)
}
