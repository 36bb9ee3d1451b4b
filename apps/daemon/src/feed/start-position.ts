import type { Frame } from '@matrix/protocol/http'
import type { Ring } from './ring.ts'

type Resync = Extract<Frame, { kind: 'resync' }>['reason']

/** Where a reader begins, and what it has to be told if that is not where it stopped. */
export type Start = { position: number; resync: Resync | undefined }

export function findStart(ring: Ring, cursor: string | undefined): Start {
  const position = ring.head()
  if (cursor === undefined) return { position, resync: 'start' }

  const [epoch, last] = cursor.split('.')
  const next = Number(last) + 1
  if (epoch !== ring.epoch) return { position, resync: 'restarted' }
  if (next < ring.oldest() || next > ring.head()) return { position, resync: 'too_old' }
  return { position: next, resync: undefined }
}
