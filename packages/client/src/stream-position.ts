import type { Frame } from '@matrix/protocol/http'
import type { ServerSentEvent } from './server-sent-events.ts'

/** What to do with a frame: show it, leave it out because it was shown, or connect anew because one before it is missing. */
export type Verdict = { outcome: 'show'; frame: Frame } | { outcome: 'seen' | 'hole' }

export type StreamPosition = {
  accept(event: ServerSentEvent): Verdict
  /** What to ask for so that the next connection goes on where this one ended. */
  resumeAt(): { after: number | undefined; afterTs: string | undefined; cursor: string | undefined }
}

/** Knows which frames were shown, so that every session is seen in the order of its seq, once and without a hole. */
export function openStreamPosition({ taskId, after }: { taskId?: string; after?: number }): StreamPosition {
  const lastSeqs = new Map<string, number>()
  /** When the last event happened that was shown, of the session that is followed. */
  let afterTs: string | undefined
  /** Sessions of which a part was left out with notice; whoever reads them fetches it. */
  let told = new Set<string>()
  let cursor: string | undefined
  if (taskId !== undefined && after !== undefined) lastSeqs.set(taskId, after)

  const judge = (frame: Frame): 'show' | 'seen' | 'hole' => {
    // A stream of one session catches up from the log by itself: nothing of it is ever left out.
    if (frame.kind === 'resync' && taskId === undefined) told = new Set(lastSeqs.keys())
    if (frame.kind === 'task_removed') lastSeqs.delete(frame.taskId)
    if (frame.kind !== 'event') return 'show'

    const last = lastSeqs.get(frame.taskId)
    // A session that was reset begins again with its first event.
    const isKnown = last !== undefined && !(frame.seq === 1 && last > 1)
    if (isKnown && frame.seq <= last) return 'seen'
    if (isKnown && frame.seq > last + 1 && !told.has(frame.taskId)) return 'hole'
    told.delete(frame.taskId)
    lastSeqs.set(frame.taskId, frame.seq)
    if (frame.taskId === taskId) afterTs = typeof frame.event.ts === 'string' ? frame.event.ts : undefined
    return 'show'
  }

  return {
    accept({ id, data }) {
      const frame: Frame = JSON.parse(data)
      const outcome = judge(frame)
      if (outcome === 'hole') cursor = undefined
      else cursor = id ?? cursor
      return outcome === 'show' ? { outcome, frame } : { outcome }
    },
    resumeAt: () => ({ after: taskId === undefined ? undefined : lastSeqs.get(taskId), afterTs, cursor }),
  }
}
