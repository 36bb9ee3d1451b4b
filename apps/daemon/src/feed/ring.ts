import type { Frame } from '@matrix/protocol/http'
import { type Entry, toEntry } from './entry.ts'

export type Ring = {
  epoch: string
  /** The position of the next frame, and of the oldest that is still here. */
  head(): number
  oldest(): number
  push(frame: Frame): void
  /** The frame at a position from `oldest` up to, not including, `head`. */
  at(position: number): Entry
  /** Those of one task, from a position on. */
  ofTask(taskId: string, position: number): Entry[]
  bytes(): number
}

/** The latest frames, for readers that are behind: as many as fit, and never more memory than that. */
export function openRing(epoch: string, limits: { frames: number; bytes: number }): Ring {
  const slots = new Array<Entry | undefined>(limits.frames)
  /** The latest frame of each task; every frame leads to the one before it. */
  const latest = new Map<string, Entry>()
  let head = 1
  let oldest = 1
  let bytes = 0

  const drop = () => {
    const slot = oldest % limits.frames
    const entry = slots[slot]
    slots[slot] = undefined
    oldest += 1
    if (!entry) return
    bytes -= entry.bytes.length
    if (entry.taskId !== null && latest.get(entry.taskId) === entry) latest.delete(entry.taskId)
  }

  const at = (position: number) => {
    const entry = slots[position % limits.frames]
    if (entry?.position !== position) throw new RangeError(`no frame at ${position}: ${oldest} to ${head - 1} are here`)
    return entry
  }

  return {
    epoch,
    head: () => head,
    oldest: () => oldest,
    bytes: () => bytes,
    push(frame) {
      const entry = toEntry(frame, epoch, head)
      if (entry.taskId !== null) {
        entry.before = latest.get(entry.taskId)?.position
        latest.set(entry.taskId, entry)
      }
      if (head - oldest === limits.frames) drop()
      slots[head % limits.frames] = entry
      bytes += entry.bytes.length
      head += 1
      while (bytes > limits.bytes) drop()
    },
    at,
    ofTask(taskId, position) {
      const found: Entry[] = []
      const from = Math.max(position, oldest)
      for (let next = latest.get(taskId)?.position ?? 0; next >= from; next = at(next).before ?? 0) found.push(at(next))
      return found.reverse()
    },
  }
}
