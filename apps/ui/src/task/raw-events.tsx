import type { SessionEvent } from '@matrix/protocol/http'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronRight } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import type { PagesView } from '../live/event-pages.ts'
import { useSession } from '../live/session.ts'
import { classes } from '../parts/classes.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Field } from '../parts/field.tsx'
import { useFold } from '../parts/fold.ts'
import { formatCount } from '../parts/formats.ts'

/** The events that are in memory, newest first, exactly as the daemon keeps them. */
export function RawEvents({ projectId, taskId }: { projectId: string; taskId: string }) {
  const session = useSession(projectId, taskId)
  const scroller = useRef<HTMLDivElement>(null)
  const [wanted, setWanted] = useState('')
  const { view } = session
  const events = useMemo(() => newestFirst(view, wanted.trim()), [view, wanted])
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => events[index]?.seq ?? index,
    estimateSize: () => 28,
    overscan: 6,
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
  })

  return (
    <div className="flex h-full flex-col">
      <div className="border-b p-2">
        <Field
          aria-label="Only events of this type"
          placeholder="Type, such as tool_call"
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
        />
        <p className="mt-1 text-ink-3 text-sm">
          {formatCount(events.length)} of {formatCount(view.lastSeq)} events are loaded here. Scroll the conversation to
          load others.
        </p>
      </div>
      <div ref={scroller} className="min-h-0 flex-1 overflow-auto">
        <div ref={rows.containerRef} className="relative">
          {rows.getVirtualItems().map(({ index, key }) => {
            const entry = events[index]
            return entry ? (
              <div key={key} data-index={index} ref={rows.measureElement} className="absolute left-0 w-full">
                <RawEvent entry={entry} taskId={taskId} />
              </div>
            ) : null
          })}
        </div>
      </div>
    </div>
  )
}

function RawEvent({ entry, taskId }: { entry: SessionEvent; taskId: string }) {
  const [isOpen, toggle] = useFold(`raw/${taskId}/${entry.seq}`)
  return (
    <div className="border-b px-2">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={toggle}
        className="flex h-7 w-full items-center gap-2 text-left font-mono text-sm pointer-coarse:h-10"
      >
        <ChevronRight size={12} aria-hidden className={classes('text-ink-3', isOpen && 'rotate-90')} />
        <span className="tabular text-ink-3">{entry.seq}</span>
        <span className="truncate">{entry.event.type}</span>
      </button>
      {isOpen ? <CodeBlock code={JSON.stringify(entry.event, null, 2)} language="json" /> : null}
    </div>
  )
}

function newestFirst({ pages }: PagesView, type: string): SessionEvent[] {
  return [...pages.entries()]
    .sort(([left], [right]) => right - left)
    .flatMap(([, events]) => events.toReversed())
    .filter(({ event }) => event.type.includes(type))
}
