import type { Clock } from '@matrix/event-store'
import { queueMessage } from '@matrix/protocol'
import { deliverMessage } from './delivery.ts'
import { haltTask, problemOf } from './halt.ts'
import type { ProjectContext } from './project-context.ts'
import { isoNow } from './world.ts'

const FIRST_MS = 30_000
const LONGEST_MS = 3_600_000

/** Looks now and then whether a full disk has room again, for as long as somebody is held up by it. */
export type RoomWatch = {
  /** Somebody is held up. */
  begin(): void
  end(): void
}

export type RoomWatchOptions = {
  isNeeded(): boolean
  hasRoom(): Promise<boolean>
  onRoom(): Promise<void>
}

export function createRoomWatch(clock: Clock, { isNeeded, hasRoom, onRoom }: RoomWatchOptions): RoomWatch {
  let cancel: (() => void) | undefined
  let delayMs = FIRST_MS
  let foundAt = Number.NEGATIVE_INFINITY

  function look(): void {
    cancel ??= clock.after(delayMs, async () => {
      cancel = undefined
      if (!isNeeded()) return
      if (!(await hasRoom().catch(() => false))) return look()
      foundAt = clock.now()
      await onRoom()
    })
  }

  return {
    begin() {
      if (cancel) return
      // Room that is gone as soon as it is used, as a quota or another disk makes it seem, must not have agents try for ever.
      const isSoon = clock.now() - foundAt < 2 * delayMs
      delayMs = isSoon ? Math.min(2 * delayMs, LONGEST_MS) : FIRST_MS
      look()
    },
    end: () => cancel?.(),
  }
}

/** The tasks that only lack room on the disk. One that a person has stopped is not among them. */
export function tasksWithoutRoom({ halted, tree }: ProjectContext): string[] {
  return [...halted].flatMap(([taskId, halt]) => {
    const isHeldUp = halt.kind === 'blocked' && halt.problem.code === 'STORAGE_FULL'
    const status = tree.find(taskId)?.status
    return isHeldUp && status !== undefined && status !== 'closed' ? [taskId] : []
  })
}

export async function goOnWithRoom(ctx: ProjectContext): Promise<void> {
  for (const taskId of tasksWithoutRoom(ctx))
    await tellOfRoom(ctx, taskId).catch((error) => haltTask(ctx, taskId, problemOf(error)))
}

/** A session whose last word is a problem waits for another one. */
export function tellOfRoom(
  ctx: ProjectContext,
  taskId: string,
  { wake }: { wake: boolean } = { wake: true },
): Promise<void> {
  const id = `room/${taskId}/${isoNow(ctx.world)}`
  const summary = 'The disk was full, and has room again. Go on.'
  return deliverMessage(ctx, taskId, queueMessage.treeChange({ id, changedTaskId: taskId, summary }), { wake })
}
