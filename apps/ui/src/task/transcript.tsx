import type { TaskView } from '@matrix/protocol/http'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from 'lucide-react'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Session } from '../live/session.ts'
import { Button } from '../parts/button.tsx'
import { formatCount } from '../parts/formats.ts'
import { ErrorState, Loading } from '../parts/states.tsx'
import { PendingMessage } from './pending-message.tsx'
import { useStickToEnd } from './stick-to-end.ts'
import { StreamingText } from './streaming-text.tsx'
import { findTakenBack } from './taken-back.ts'
import { type Item, indexOfSeq, isEvent, toItems } from './transcript-items.ts'
import { TranscriptRow } from './transcript-row.tsx'

type Shown =
  | Item
  | { kind: 'streaming'; key: string }
  | { kind: 'pending'; key: string; message: Session['pending'][number] }

type TranscriptProps = {
  session: Session
  task: TaskView
  /** The event to show first, instead of the end. */
  seq: number | undefined
  onEdit: (text: string) => void
}

/** About how high one event is, before it was ever shown. */
const eventHeight = 34
const rowHeights: Record<string, number> = { assistant_text: 120, tool_call: 36, messages_consumed: 64 }

/** A conversation of any length, of which only what is looked at is in the page. */
export function Transcript(props: TranscriptProps) {
  const { session } = props
  if (session.state === 'failed') return <ErrorState error={session.error} onRetry={session.retry} />
  if (session.state === 'loading') return <Loading label="Reading the conversation" />
  return <LoadedTranscript key={`${session.projectId}/${session.taskId}`} {...props} />
}

function LoadedTranscript({ session, task, seq, onEdit }: TranscriptProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const gapHeights = useRef(new Map<number, number>())
  const shown = useShown(session, task)
  const { pages, view } = session

  const virtualizer = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => shown[index]?.key ?? index, [shown]),
    estimateSize: (index) => estimate(shown[index], gapHeights.current),
    // Beyond the end of any conversation, so that it opens with its newest words in sight; or about where the event is.
    initialOffset: seq === undefined ? 1e9 : (seq - 1) * eventHeight,
    anchorTo: 'end',
    overscan: 8,
    paddingStart: 16,
    paddingEnd: 16,
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
  })
  const { containerRef } = virtualizer
  const container = useCallback(
    (node: HTMLDivElement | null) => {
      content.current = node
      containerRef(node)
    },
    [containerRef],
  )
  const end = useStickToEnd(scroller, content, seq === undefined)
  const items = virtualizer.getVirtualItems()
  // Only what is in sight: beyond it may be pages of hundreds of events each.
  const first = shown[virtualizer.range?.startIndex ?? 0]
  const last = shown[virtualizer.range?.endIndex ?? 0]
  const firstPage = virtualizer.range && first ? pageOf(first, view) : undefined
  const lastPage = last ? pageOf(last, view) : 0

  useEffect(() => {
    rememberHeights(shown, gapHeights.current, virtualizer.itemSizeCache, view.pageSize)
    if (firstPage !== undefined) void pages.show(firstPage, lastPage)
  }, [pages, firstPage, lastPage, shown, virtualizer, view.pageSize])

  const isTakenBack = useMemo(() => findTakenBack(view), [view])
  const marked = useJump({ session, shown, seq, scrollTo: virtualizer.scrollToIndex })

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        className="h-full overflow-y-auto overflow-x-hidden overscroll-contain [overflow-anchor:none]"
      >
        <div ref={container} className="relative mx-auto w-full max-w-4xl">
          {items.map(({ index, key }) => {
            const item = shown[index]
            return item ? (
              <div
                key={key}
                data-index={index}
                ref={virtualizer.measureElement}
                className="absolute left-0 w-full px-4"
              >
                {item.kind === 'gap' ? (
                  <Gap
                    item={item}
                    height={estimate(item, gapHeights.current)}
                    onRetry={() => void pages.retry(item.page)}
                  />
                ) : (
                  <ShownItem
                    item={item}
                    session={session}
                    task={task}
                    isMarked={item.key === marked}
                    isTakenBack={item.kind === 'row' && isTakenBack(item.seq)}
                    onEdit={onEdit}
                  />
                )}
              </div>
            ) : null
          })}
        </div>
      </div>
      <ToEnd isAtEnd={end.isAtEnd} lastSeq={view.lastSeq} onClick={end.goToEnd} />
    </div>
  )
}

type ShownItemProps = {
  item: Exclude<Shown, { kind: 'gap' }>
  session: Session
  task: TaskView
  isMarked: boolean
  isTakenBack: boolean
  onEdit: (text: string) => void
}

function ShownItem({ item, session, task, isMarked, isTakenBack, onEdit }: ShownItemProps) {
  if (item.kind === 'row')
    return (
      <TranscriptRow
        seq={item.seq}
        event={item.event}
        session={session}
        view={session.view}
        activity={task.activity}
        isAsking={task.needs.includes('approval')}
        output={isEvent(item.event, 'tool_call') ? session.outputs.get(item.event.callId) : undefined}
        isMarked={isMarked}
        isTakenBack={isTakenBack}
      />
    )
  if (item.kind === 'pending') return <PendingMessage message={item.message} session={session} onEdit={onEdit} />
  return <StreamingText text={session.streaming} note={session.note} doing={task.doing} />
}

type GapProps = { item: Extract<Item, { kind: 'gap' }>; height: number; onRetry: () => void }

/** As high as what it stands for was or may be, so that nothing moves when that comes back. */
function Gap({ item, height, onRetry }: GapProps) {
  if (item.error) return <ErrorState error={new Error(item.error)} onRetry={onRetry} />
  return (
    <div className="flex items-center justify-center text-ink-3 text-sm" style={{ height }}>
      {formatCount(item.events)} events…
    </div>
  )
}

function useShown(session: Session, task: TaskView): readonly Shown[] {
  const { view, pending } = session
  const items = useMemo(() => toItems(view), [view])
  const isTalking = session.streaming !== '' || session.note !== null || task.activity === 'working'
  return useMemo(
    () => [
      ...items,
      ...(isTalking ? [{ kind: 'streaming' as const, key: 'streaming' }] : []),
      ...pending.map((message) => ({ kind: 'pending' as const, key: `pending-${message.id}`, message })),
    ],
    [items, isTalking, pending],
  )
}

function estimate(item: Shown | undefined, gapHeights: ReadonlyMap<number, number>): number {
  if (item?.kind === 'gap') return gapHeights.get(item.page) ?? item.events * eventHeight
  return item?.kind === 'row' ? (rowHeights[item.event.type] ?? 40) : 60
}

function pageOf(item: Shown, { pageSize, lastSeq }: { pageSize: number; lastSeq: number }): number {
  if (item.kind === 'gap') return item.page
  return Math.ceil((item.kind === 'row' ? item.seq : Math.max(1, lastSeq)) / pageSize) - 1
}

/** How high the loaded pages are, so that nothing moves when one of them is dropped. */
function rememberHeights(
  shown: readonly Shown[],
  heights: Map<number, number>,
  sizes: ReadonlyMap<unknown, number>,
  pageSize: number,
): void {
  const sums = new Map<number, number>()
  for (const item of shown) {
    if (item.kind !== 'row') continue
    const page = Math.ceil(item.seq / pageSize) - 1
    sums.set(page, (sums.get(page) ?? 0) + (sizes.get(item.key) ?? estimate(item, heights)))
  }
  for (const [page, sum] of sums) heights.set(page, sum)
}

type Jump = {
  session: Session
  shown: readonly Shown[]
  seq: number | undefined
  scrollTo: (index: number, options: { align: 'center' }) => void
}

/** How long a jump holds its place while rows around it turn out higher or lower than expected. */
const settleMs = 1500

/** Goes to the event that was asked for, loading what is around it first. Answers the key of the row to point out. */
function useJump({ session, shown, seq, scrollTo }: Jump): string | undefined {
  const [marked, setMarked] = useState<string>()
  const jump = useRef<{ seq: number; until: number }>(undefined)
  const { pages, view } = session

  useLayoutEffect(() => {
    if (shown.length === 0 || seq === undefined) return
    if (jump.current?.seq === seq && performance.now() > jump.current.until) return
    const page = pages.pageOf(Math.min(seq, view.lastSeq))
    const around = [page - 1, page, page + 1].filter((one) => one >= 0 && one <= pages.pageOf(view.lastSeq))
    if (around.some((one) => !view.pages.has(one) && !view.failed.has(one))) {
      void pages.show(page, page)
      return
    }
    const items = shown.filter((item): item is Item => item.kind === 'row' || item.kind === 'gap')
    const index = indexOfSeq(items, seq, view.pageSize)
    if (jump.current?.seq !== seq) jump.current = { seq, until: performance.now() + settleMs }
    setMarked(items[index]?.key)
    if (index >= 0) scrollTo(index, { align: 'center' })
  }, [shown, seq, pages, view, scrollTo])

  return marked
}

/** The way back to the newest event, with how many have come since it was left. */
function ToEnd({ isAtEnd, lastSeq, onClick }: { isAtEnd: boolean; lastSeq: number; onClick: () => void }) {
  const leftAt = useRef(lastSeq)
  if (isAtEnd) leftAt.current = lastSeq
  if (isAtEnd) return null
  const missed = lastSeq - leftAt.current
  return (
    <Button
      className="absolute right-4 bottom-3 shadow-lift"
      icon={<ArrowDown size={14} aria-hidden />}
      onClick={onClick}
    >
      {missed > 0 ? `${formatCount(missed)} new events` : 'To the end'}
    </Button>
  )
}
