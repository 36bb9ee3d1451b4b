import type { PagesView } from '../live/event-pages.ts'
import { isEvent } from './transcript-items.ts'

/** Tells which events the agent no longer knows, since its conversation was taken back to before them. */
export function findTakenBack({ pages }: Pick<PagesView, 'pages'>): (seq: number) => boolean {
  const markers = [...pages.values()]
    .flatMap((events) =>
      events.flatMap(({ seq, event }) => (isEvent(event, 'rewind_marker') ? [[seq, event.upTo]] : [])),
    )
    .sort(([one = 0], [other = 0]) => other - one)
  const ranges: [number, number][] = []
  let known = Number.POSITIVE_INFINITY
  // From the end: a marker that was itself taken back says nothing any more.
  for (const [seq = 0, upTo = 0] of markers) {
    if (seq > known) continue
    ranges.push([upTo, seq])
    known = upTo
  }
  return (seq) => ranges.some(([from, to]) => seq > from && seq < to)
}
