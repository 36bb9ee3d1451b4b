import type { ChangesView, FileChange } from '@matrix/protocol/http'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { formatCount } from '../parts/formats.ts'
import { ErrorState } from '../parts/states.tsx'
import type { FileHunks } from './changes.ts'
import { CommentCard, CommentEditor } from './comment-card.tsx'
import type { DiffLine } from './diff-line.ts'
import { SplitRow, UnifiedRow } from './diff-row.tsx'
import { FileHeader } from './file-header.tsx'
import { useLineColours } from './line-colours.ts'
import { type Anchor, extendAnchor, isWithin, quoteLines, type ReviewComment } from './review-comment.ts'
import { changeReview, useReviewDraft } from './review-draft.ts'
import { type Layout, type ReviewItem, startsOpen, toReviewItems } from './review-items.ts'

type DiffViewProps = {
  taskId: string
  changes: ChangesView
  files: readonly FileChange[]
  hunks: FileHunks
  layout: Layout
  /** The file to bring into sight; another object for every time it is asked for. */
  target: { path: string } | undefined
  onCurrent: (path: string) => void
}

const heights: Record<ReviewItem['kind'], number> = {
  file: 36,
  notice: 48,
  hunk: 24,
  line: 20,
  pair: 20,
  comment: 96,
  editor: 160,
}

/** All files of a change in one list, of which only what is looked at is in the page. */
export function DiffView({ taskId, changes, files, hunks, layout, target, onCurrent }: DiffViewProps) {
  const scroller = useRef<HTMLElement>(null)
  const { comments } = useReviewDraft(taskId)
  const [editing, setEditing] = useState<Anchor>()
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const conflicts = useMemo(() => new Set(changes.conflicts), [changes.conflicts])

  const isOpen = useCallback((file: FileChange) => startsOpen(file) !== toggled.has(file.path), [toggled])
  const toggle = (path: string) => setToggled((before) => toggleIn(before, path))
  const { hunksOf } = hunks
  const items = useMemo(
    () => toReviewItems(files, { layout, isOpen, hunksOf, comments, editing }),
    [files, layout, isOpen, hunksOf, comments, editing],
  )

  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => items[index]?.key ?? index, [items]),
    estimateSize: (index) => heights[items[index]?.kind ?? 'line'],
    overscan: 12,
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
  })
  const shown = virtualizer.getVirtualItems()
  const current = items[virtualizer.range?.startIndex ?? 0]?.file

  const inSight = shown.map(({ index }) => items[index])
  useLoadShown(inSight, hunks.load)
  const coloursOf = useLineColours(inSight)
  useEffect(() => {
    if (current) onCurrent(current.path)
  }, [current, onCurrent])

  const { scrollToIndex } = virtualizer
  const latest = useRef(items)
  latest.current = items
  useEffect(() => {
    const index = latest.current.findIndex((item) => item.kind === 'file' && item.file.path === target?.path)
    if (index >= 0) scrollToIndex(index, { align: 'start' })
  }, [target, scrollToIndex])

  const onPick = useCallback(
    (path: string, line: DiffLine, extend: boolean) =>
      setEditing((before) => extendAnchor(extend ? before : undefined, path, line)),
    [],
  )
  const onSave = (file: FileChange, anchor: Anchor, text: string) => {
    const quote = quoteLines(anchor, hunks.hunksOf(file) ?? [])
    changeReview(taskId, { comments: [...comments, { ...anchor, id: crypto.randomUUID(), text, quote }] })
    setEditing(undefined)
  }

  return (
    <section
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      tabIndex={0}
      aria-label="Changes"
      className="min-h-0 min-w-0 flex-1 overflow-auto bg-surface"
    >
      <div ref={virtualizer.containerRef} className="relative">
        {shown.map(({ index, key }) => {
          const item = items[index]
          return item ? (
            <div key={key} data-index={index} ref={virtualizer.measureElement} className="absolute left-0 w-full">
              <Item
                item={item}
                editing={editing}
                coloursOf={coloursOf}
                error={hunks.errorOf(item.file)}
                isConflicting={conflicts.has(item.file.path)}
                reasons={reasonsOf(changes, item.file)}
                onToggle={() => toggle(item.file.path)}
                onPick={onPick}
                onRetry={() => hunks.load(item.file)}
                onSave={onSave}
                onCancel={() => setEditing(undefined)}
                onComments={(change) => changeReview(taskId, { comments: change(comments) })}
              />
            </div>
          ) : null
        })}
      </div>
    </section>
  )
}

function reasonsOf({ flagged }: ChangesView, { path, oldPath }: FileChange): string[] {
  return flagged.filter((file) => file.path === path || file.path === oldPath).flatMap(({ reasons }) => reasons)
}

type ItemProps = {
  item: ReviewItem
  editing: Anchor | undefined
  coloursOf: ReturnType<typeof useLineColours>
  error: unknown
  isConflicting: boolean
  reasons: readonly string[]
  onToggle: () => void
  onPick: (path: string, line: DiffLine, extend: boolean) => void
  onRetry: () => void
  onSave: (file: FileChange, anchor: Anchor, text: string) => void
  onCancel: () => void
  onComments: (change: (comments: readonly ReviewComment[]) => ReviewComment[]) => void
}

function Item(props: ItemProps) {
  const { item, editing, coloursOf } = props
  const { path } = item.file
  const { onPick: pick } = props
  const onPick = useCallback((line: DiffLine, extend: boolean) => pick(path, line, extend), [pick, path])
  switch (item.kind) {
    case 'file':
      return (
        <FileHeader
          file={item.file}
          isOpen={item.isOpen}
          isConflicting={props.isConflicting}
          reasons={props.reasons}
          onToggle={props.onToggle}
        />
      )
    case 'notice':
      return <Notice item={item} error={props.error} onRetry={props.onRetry} />
    case 'hunk':
      return <HunkHeader hunk={item.hunk} />
    case 'line':
      return (
        <UnifiedRow
          line={item.line}
          partner={item.partner}
          tokens={coloursOf(item.line)}
          isChosen={isWithin(editing, path, item.line)}
          onPick={onPick}
        />
      )
    case 'pair': {
      const { left, right } = item.pair
      return (
        <SplitRow
          left={left}
          right={right}
          leftTokens={coloursOf(left)}
          rightTokens={coloursOf(right)}
          isLeftChosen={left !== undefined && left !== right && isWithin(editing, path, left)}
          isRightChosen={right !== undefined && isWithin(editing, path, right)}
          onPick={onPick}
        />
      )
    }
    case 'comment':
      return (
        <CommentCard
          comment={item.comment}
          onChange={(text) =>
            props.onComments((all) => all.map((one) => (one.id === item.comment.id ? { ...one, text } : one)))
          }
          onRemove={() => props.onComments((all) => all.filter(({ id }) => id !== item.comment.id))}
        />
      )
    case 'editor':
      return (
        <CommentEditor
          anchor={item.anchor}
          onSave={(text) => props.onSave(item.file, item.anchor, text)}
          onCancel={props.onCancel}
        />
      )
    default:
      return item satisfies never
  }
}

const noticeWords = {
  loading: 'Loading…',
  binary: 'A binary file; its content is not shown.',
  submodule: 'A submodule; it points to another commit.',
  'no lines': 'No line differs.',
}

function Notice({
  item,
  error,
  onRetry,
}: {
  item: Extract<ReviewItem, { kind: 'notice' }>
  error: unknown
  onRetry: () => void
}) {
  if (item.notice === 'loading' && error) return <ErrorState error={error} onRetry={onRetry} />
  return <p className="px-4 py-3 text-ink-3">{noticeWords[item.notice]}</p>
}

function HunkHeader({ hunk }: { hunk: Extract<ReviewItem, { kind: 'hunk' }>['hunk'] }) {
  return (
    <p className="flex h-6 items-center gap-3 truncate bg-accent-soft px-3 font-mono text-ink-2 text-xs">
      <span className="tabular shrink-0">
        {formatCount(hunk.oldStart)} → {formatCount(hunk.newStart)}
      </span>
      <span className="truncate">{hunk.heading}</span>
    </p>
  )
}

/** Loads the hunks of files that have come into sight. */
function useLoadShown(shown: readonly (ReviewItem | undefined)[], load: (file: FileChange) => void): void {
  const wanted = shown.flatMap((item) => (item?.kind === 'notice' && item.notice === 'loading' ? [item.file] : []))
  const paths = wanted.map(({ path }) => path).join('\0')
  const files = useRef(wanted)
  files.current = wanted
  // biome-ignore lint/correctness/useExhaustiveDependencies: by name, since the list is another one each time it is drawn.
  useEffect(() => {
    for (const file of files.current) load(file)
  }, [paths, load])
}

function toggleIn(before: ReadonlySet<string>, path: string): ReadonlySet<string> {
  const next = new Set(before)
  if (!next.delete(path)) next.add(path)
  return next
}
