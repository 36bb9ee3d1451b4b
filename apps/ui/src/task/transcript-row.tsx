import { type Display, describeOrigin, displayAnyEvent } from '@matrix/protocol/display'
import type { TaskView } from '@matrix/protocol/http'
import { Brain, ChevronRight } from 'lucide-react'
import { memo, useEffect, useRef, useState } from 'react'
import type { PagesView } from '../live/event-pages.ts'
import type { Session } from '../live/session.ts'
import { classes } from '../parts/classes.ts'
import { useFold } from '../parts/fold.ts'
import { Markdown } from '../parts/markdown.tsx'
import { BodyView } from './body-view.tsx'
import { MessageView } from './message-view.tsx'
import { RowTools } from './row-tools.tsx'
import { thinkingOf } from './thinking.ts'
import { ToolCard } from './tool-card.tsx'
import { type AnyEvent, findCallState, findMessage, isEvent } from './transcript-items.ts'
import { UntrustedMark } from './untrusted-mark.tsx'

type TranscriptRowProps = {
  seq: number
  event: AnyEvent
  session: Session
  view: PagesView
  activity: TaskView['activity']
  isAsking: boolean
  /** What a call that runs has printed last. */
  output: string | undefined
  isMarked: boolean
  /** The conversation was taken back to before it: the agent no longer knows it. */
  isTakenBack: boolean
}

/** One event of the conversation. What can be done with it is there once it is pointed at or asked for: most rows only pass by. */
export const TranscriptRow = memo(function TranscriptRow({ isMarked, isTakenBack, ...row }: TranscriptRowProps) {
  const [isNear, setNear] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const hasTools = isNear || isOpen || isMarked
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: nothing is done by pointing; the tools that appear are buttons.
    <div
      id={`event-${row.seq}`}
      // Not on entering: rows that scroll past under a resting mouse would all be entered.
      onPointerMove={(event) => setNear(event.pointerType === 'mouse')}
      onPointerLeave={() => setNear(false)}
      // Some browsers give no button the focus that is tapped: only what went elsewhere has left the row.
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) setOpen(false)
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return
        setOpen(false)
        opener.current?.focus()
      }}
      className={classes(
        'relative flow-root pointer-coarse:pr-6',
        isMarked && 'rounded-md outline-2 outline-accent outline-offset-2',
        isTakenBack && 'border-l-2 border-dashed pl-2',
      )}
    >
      {isTakenBack ? <span className="sr-only">Taken back: </span> : null}
      <Content {...row} />
      <button
        ref={opener}
        type="button"
        aria-label={`Tools of event ${row.seq}`}
        aria-expanded={hasTools}
        onClick={() => setOpen(!isOpen)}
        // A mouse has the tools without it; a keyboard sees it when it comes by, a finger always.
        className="pointer-events-none pointer-coarse:pointer-events-auto absolute top-0.5 right-0 pointer-coarse:-right-3 size-6 pointer-coarse:h-9 pointer-coarse:w-8 rounded-sm bg-raised pointer-coarse:bg-transparent text-ink-3 opacity-0 focus-visible:opacity-100 pointer-coarse:opacity-100"
      >
        ⋯
      </button>
      {hasTools ? <RowTools seq={row.seq} event={row.event} session={row.session} /> : null}
    </div>
  )
})

function Content({
  seq,
  event,
  session,
  view,
  activity,
  isAsking,
  output,
}: Omit<TranscriptRowProps, 'isMarked' | 'isTakenBack'>) {
  if (isEvent(event, 'assistant_text'))
    return <Said text={event.text} provider={event.provider} foldKey={`${event.taskId}/${seq}`} />
  if (isEvent(event, 'tool_call')) {
    const found = findCallState(view, event.callId, seq)
    const result = found.state === 'answered' ? found.result : undefined
    return (
      <ToolCard
        call={event}
        seq={seq}
        state={found.state}
        result={result}
        activity={activity}
        isAsking={isAsking}
        output={output}
      />
    )
  }
  if (isEvent(event, 'messages_consumed'))
    return event.messageIds.map((messageId) => (
      <ReadMessage key={messageId} messageId={messageId} seq={seq} session={session} view={view} />
    ))
  return <Note event={event} seq={seq} />
}

const Said = memo(function Said({ text, provider, foldKey }: { text: string; provider: unknown; foldKey: string }) {
  const thinking = thinkingOf(provider)
  return (
    <div className="py-2">
      {thinking === '' ? null : <Thinking text={thinking} foldKey={foldKey} />}
      {text.trim() === '' ? null : <Markdown text={text} />}
    </div>
  )
})

function Thinking({ text, foldKey }: { text: string; foldKey: string }) {
  const [isOpen, toggle] = useFold(`thinking/${foldKey}`)
  return (
    <div className="mb-1">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={toggle}
        className="flex h-6 items-center gap-1.5 rounded-sm text-ink-3 text-sm hover:text-ink-2 pointer-coarse:h-9"
      >
        <Brain size={13} aria-hidden /> Thinking
        <ChevronRight size={12} aria-hidden className={classes('transition-transform', isOpen && 'rotate-90')} />
      </button>
      {isOpen ? (
        <div className="border-l-2 pl-3 text-ink-2">
          <Markdown text={text} />
        </div>
      ) : null}
    </div>
  )
}

type ReadMessageProps = { messageId: string; seq: number; session: Session; view: PagesView }

/** A message where it was read. It may have arrived long before, on a page that is loaded for it. */
function ReadMessage({ messageId, seq, session, view }: ReadMessageProps) {
  const found = findMessage(view, messageId)
  const mark = describeOrigin(found?.origin)
  const arrivedBefore = !found && session.pages.previousMissing(seq)
  useEffect(() => {
    if (typeof arrivedBefore === 'number') void session.pages.retry(arrivedBefore)
  }, [session, arrivedBefore])
  if (found)
    return (
      <>
        <MessageView message={found.message} />
        {mark ? <UntrustedMark mark={mark} /> : null}
      </>
    )
  return <p className="py-2 text-ink-3 text-sm">A message that arrived earlier</p>
}

/** What happened around the conversation: a thin line for the usual, a card for what matters. */
const Note = memo(function Note({ event, seq }: { event: AnyEvent; seq: number }) {
  const shown = displayAnyEvent(event, { maxLength: 200_000 })
  const isMore = shown.bodies.some((body) => body.kind !== 'text' || body.text.trim() !== shown.summary)
  const [isOpen, toggle] = useFold(`note/${event.type}/${seq}`)
  // What the loop tells the model is rarely of interest to whoever reads along.
  const tone = event.type === 'notice' ? 'muted' : shown.tone
  const isQuiet = tone === 'muted'

  return (
    <div className={classes('my-2', !isQuiet && 'rounded-md border px-3 py-2', cards[tone])}>
      <div className={classes('flex items-center gap-2', isQuiet && 'text-ink-3 text-sm')}>
        {isQuiet ? <span aria-hidden className="h-px min-w-4 flex-1 bg-line" /> : null}
        <span className={classes('shrink-0 font-medium', titles[tone])}>{shown.title}</span>
        <span className={classes('min-w-0 truncate', !isQuiet && 'flex-1 text-ink-2')}>{shown.summary}</span>
        {shown.mark ? <UntrustedMark mark={shown.mark} /> : null}
        {isMore ? (
          <button
            type="button"
            aria-expanded={isOpen}
            onClick={toggle}
            className="shrink-0 text-accent text-sm hover:underline"
          >
            {isOpen ? 'less' : 'more'}
          </button>
        ) : null}
        {isQuiet ? <span aria-hidden className="h-px min-w-4 flex-1 bg-line" /> : null}
      </div>
      {isOpen
        ? shown.bodies.map((body, index) =>
            body.kind === 'text' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts of an event never move.
              <Markdown key={index} text={body.text} />
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above.
              <BodyView key={index} body={body} />
            ),
          )
        : null}
    </div>
  )
})

const cards: Partial<Record<Display['tone'], string>> = {
  good: 'border-ok/30 bg-ok-soft',
  warning: 'border-warn/30 bg-warn-soft',
  bad: 'border-bad/30 bg-bad-soft',
}

const titles: Partial<Record<Display['tone'], string>> = { good: 'text-ok', warning: 'text-warn', bad: 'text-bad' }
