import type { Frame } from '@matrix/protocol/http'

export type DeltaMerge = {
  push(frame: Frame): void
  close(): void
}

type Delta = Extract<Frame, { kind: 'live' }> & { event: { type: 'text_delta' } }

/**
 * Puts the pieces of text of one task that arrive within a moment together. What has been held back goes out before anything
 * else of the same task, so the order stays as it was.
 */
export function openDeltaMerge(send: (frame: Frame) => void, ms: number): DeltaMerge {
  const held = new Map<string, { frame: Delta; timer: NodeJS.Timeout }>()

  const release = (taskId: string) => {
    const one = held.get(taskId)
    if (!one) return
    clearTimeout(one.timer)
    held.delete(taskId)
    send(one.frame)
  }

  return {
    push(frame) {
      const taskId = taskOf(frame)
      if (!isDelta(frame)) {
        if (taskId) release(taskId)
        send(frame)
        return
      }
      const one = held.get(frame.taskId)
      if (one) one.frame = join(one.frame, frame)
      else held.set(frame.taskId, { frame, timer: setTimeout(release, ms, frame.taskId) })
    },
    close() {
      for (const taskId of [...held.keys()]) release(taskId)
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
