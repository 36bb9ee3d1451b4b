import type { Frame } from '@matrix/protocol/http'

export type DeltaMerge = {
  push(frame: Frame): void
  /** Sends what is held back. */
  release(): void
}

type Delta = Extract<Frame, { kind: 'live' }> & { event: { type: 'text_delta' } }

/**
 * Puts the pieces of text of one task together until they are released. What is held back goes out before anything else of the
 * same task, so the order stays as it was.
 */
export function openDeltaMerge(send: (frame: Frame) => void): DeltaMerge {
  const held = new Map<string, Delta>()

  return {
    push(frame) {
      if (isDelta(frame)) {
        const before = held.get(frame.taskId)
        held.set(frame.taskId, before ? join(before, frame) : frame)
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

function join(first: Delta, second: Delta): Delta {
  return { ...second, event: { ...second.event, text: first.event.text + second.event.text } }
}

function isDelta(frame: Frame): frame is Delta {
  return frame.kind === 'live' && frame.event.type === 'text_delta'
}

function taskOf(frame: Frame): string | undefined {
  if (frame.kind === 'task') return frame.task.id
  return 'taskId' in frame ? frame.taskId : undefined
}
