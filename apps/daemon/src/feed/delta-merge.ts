import type { Frame } from '@matrix/protocol/http'

export type DeltaMerge = {
  push(frame: Frame): void
  /** Sends what is held back. */
  release(): void
}

type Delta = Extract<Frame, { kind: 'live' }> & { event: { type: 'text_delta' | 'tool_output' } }

/**
 * Puts the pieces of text of one task, and the lines of one of its calls, together until they are released. What is held back goes out before anything else of the
 * same task, so the order stays as it was.
 */
export function openDeltaMerge(send: (frame: Frame) => void): DeltaMerge {
  const held = new Map<string, Delta>()

  return {
    push(frame) {
      if (isDelta(frame)) {
        const before = held.get(frame.taskId)
        const isMore = before && sourceOf(before) === sourceOf(frame)
        if (before && !isMore) send(before)
        held.set(frame.taskId, isMore ? join(before, frame) : frame)
        return
      }
      const taskId = taskOf(frame)
      const before = taskId && held.get(taskId)
      if (before) {
        held.delete(taskId)
        send(before)
      }
      send(frame)
    },
    release() {
      for (const frame of held.values()) send(frame)
      held.clear()
    },
  }
}

/** A call can print without end while a slow reader is waited for. */
const MAX_OUTPUT = 16_384

function join(first: Delta, second: Delta): Delta {
  const text = first.event.text + second.event.text
  return {
    ...second,
    event: { ...second.event, text: second.event.type === 'tool_output' ? text.slice(-MAX_OUTPUT) : text },
  }
}

function isDelta(frame: Frame): frame is Delta {
  return frame.kind === 'live' && (frame.event.type === 'text_delta' || frame.event.type === 'tool_output')
}

/** The model, or the call that prints. */
function sourceOf({ event }: Delta): string | undefined {
  return event.type === 'tool_output' ? event.callId : undefined
}

function taskOf(frame: Frame): string | undefined {
  if (frame.kind === 'task') return frame.task.id
  return 'taskId' in frame ? frame.taskId : undefined
}
