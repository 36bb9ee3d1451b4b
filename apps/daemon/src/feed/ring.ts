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
  bytes(): number
}

/** The latest frames, for readers that are behind: as many as fit, and never more memory than that. */
export function openRing(epoch: string, limits: { frames: number; bytes: number }): Ring {
  const slots = new Array<Entry | undefined>(limits.frames)
  let head = 1
  let oldest = 1
  let bytes = 0

  const drop = () => {
    const slot = oldest % limits.frames
    bytes -= slots[slot]?.bytes.length ?? 0
    slots[slot] = undefined
    oldest += 1
  }

  return {
    epoch,
    head: () => head,
    oldest: () => oldest,
    bytes: () => bytes,
    push(frame) {
      const entry = toEntry(frame, epoch, head)
      if (head - oldest === limits.frames) drop()
      slots[head % limits.frames] = entry
      bytes += entry.bytes.length
      head += 1
      while (bytes > limits.bytes) drop()
    },
    at(position) {
      const entry = slots[position % limits.frames]
      if (entry?.position !== position)
        throw new RangeError(`no frame at ${position}: ${oldest} to ${head - 1} are here`)
      return entry
    },
  }
}
