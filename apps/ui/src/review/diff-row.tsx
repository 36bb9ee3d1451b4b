import { MessageSquarePlus } from 'lucide-react'
import { type MouseEvent, memo } from 'react'
import { classes } from '../parts/classes.ts'
import type { Token } from '../parts/colours.tsx'
import type { DiffLine } from './diff-line.ts'
import { DiffText } from './diff-text.tsx'

export type PickLine = (line: DiffLine, extend: boolean) => void

const looks: Record<DiffLine['kind'], string> = {
  context: '',
  note: 'text-ink-3',
  added: 'bg-ok-soft',
  removed: 'bg-bad-soft',
}
const words = { added: 'Added', removed: 'Removed', context: 'Unchanged', note: '' }
const marks = { added: '+', removed: '-', context: '', note: '' }

type Tokens = readonly Token[] | undefined

type LineProps = {
  line: DiffLine
  partner: DiffLine | undefined
  tokens: Tokens
  isChosen: boolean
  onPick: PickLine
}

/** One line with both its numbers. */
export const UnifiedRow = memo(function UnifiedRow({ line, partner, tokens, isChosen, onPick }: LineProps) {
  return (
    <div className={classes('group/line flex font-mono text-sm leading-5', looks[line.kind], isChosen && chosen)}>
      <Gutter line={line} onPick={onPick}>
        <span className="w-9 text-right max-sm:hidden">{line.oldLine}</span>
        <span className="w-9 text-right">{line.newLine ?? (line.kind === 'removed' ? line.oldLine : '')}</span>
      </Gutter>
      <Code line={line} partner={partner} tokens={tokens} />
    </div>
  )
})

const chosen = 'shadow-[inset_3px_0_0_var(--accent)]'

type PairProps = {
  left: DiffLine | undefined
  right: DiffLine | undefined
  leftTokens: Tokens
  rightTokens: Tokens
  isLeftChosen: boolean
  isRightChosen: boolean
  onPick: PickLine
}

/** Before and after, side by side. */
export const SplitRow = memo(function SplitRow(props: PairProps) {
  const { left, right, leftTokens, rightTokens, isLeftChosen, isRightChosen, onPick } = props
  const isSame = left === right
  return (
    <div className="grid grid-cols-2 font-mono text-sm leading-5">
      <Half
        line={left}
        number={left?.oldLine}
        partner={isSame ? undefined : right}
        tokens={leftTokens}
        isChosen={isLeftChosen}
        onPick={onPick}
      />
      <Half
        line={right}
        number={right?.newLine}
        partner={isSame ? undefined : left}
        tokens={rightTokens}
        isChosen={isRightChosen}
        onPick={onPick}
      />
    </div>
  )
})

type HalfProps = {
  line: DiffLine | undefined
  number: number | undefined
  partner: DiffLine | undefined
  tokens: Tokens
  isChosen: boolean
  onPick: PickLine
}

function Half({ line, number, partner, tokens, isChosen, onPick }: HalfProps) {
  if (!line) return <div className="border-r bg-sunken" />
  return (
    <div className={classes('group/line flex min-w-0 border-r', looks[line.kind], isChosen && chosen)}>
      <Gutter line={line} onPick={onPick}>
        <span className="w-9 text-right">{number}</span>
      </Gutter>
      <Code line={line} partner={partner} tokens={tokens} />
    </div>
  )
}

type GutterProps = { line: DiffLine; onPick: PickLine; children: React.ReactNode }

/** There is no Shift on a phone: a second tap in the same file widens what the first one chose. */
function isTouched(): boolean {
  return window.matchMedia('(pointer: coarse)').matches
}

/** The numbers of a line, all of which can be clicked to comment on it. */
function Gutter({ line, onPick, children }: GutterProps) {
  return (
    <span className="tabular relative flex shrink-0 select-none items-start gap-1 px-1 text-ink-3 hover:text-accent">
      {line.kind === 'note' ? (
        <span className="w-[13px]" />
      ) : (
        <button
          type="button"
          className="before:absolute before:inset-0"
          aria-label={`Comment on line ${line.newLine ?? line.oldLine}${line.kind === 'removed' ? ' before the change' : ''}`}
          title="Comment; Shift-click for several lines"
          onClick={(event: MouseEvent) => onPick(line, event.shiftKey || isTouched())}
        >
          <MessageSquarePlus
            size={13}
            aria-hidden
            className="mt-[3px] opacity-0 group-hover/line:opacity-100 group-focus-within/line:opacity-100 pointer-coarse:opacity-60"
          />
        </button>
      )}
      {children}
    </span>
  )
}

function Code({ line, partner, tokens }: Pick<LineProps, 'line' | 'partner' | 'tokens'>) {
  return (
    <>
      <span className="w-4 shrink-0 select-none text-center text-ink-3">
        <span aria-hidden>{marks[line.kind]}</span>
        <span className="sr-only">{words[line.kind]}</span>
      </span>
      <code className="min-w-0 flex-1 whitespace-pre-wrap break-words pr-2 [overflow-wrap:anywhere]">
        <DiffText line={line} partner={partner} tokens={tokens} />
      </code>
    </>
  )
}
