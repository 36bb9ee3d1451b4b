import type { ProjectContext } from './project-context.ts'
import { isoNow } from './world.ts'

/** Follows whether an agent that should be at work moves at all. */
export type IdleWatch = {
  /** Something happened. */
  moved(): void
  /** The agent waits, or has ended: from now on nothing is expected of it. */
  rest(): void
}

/** Longer than a command can be silent: its own limit ends it after ten minutes. */
const IDLE_MINUTES = 15
const IDLE_MS = IDLE_MINUTES * 60_000

/** Tells a person of an agent that has worked without any event for so long, until it moves again. */
export function watchIdleness(ctx: ProjectContext, taskId: string): IdleWatch {
  const { clock } = ctx.world
  const id = `idle:${taskId}`
  let movedAt = 0
  let cancel: (() => void) | undefined

  function look(): void {
    const left = movedAt + IDLE_MS - clock.now()
    cancel = left > 0 ? clock.after(left, look) : undefined
    const task = ctx.tree.find(taskId)
    if (left > 0 || !task || ctx.agents.get(taskId)?.activity !== 'working') return
    // Whoever waits for a person's answer is shown already, and is watched again once it moves.
    if (ctx.attention.list().some((each) => each.taskId === taskId)) return
    ctx.attention.add({
      id,
      kind: 'failure',
      projectId: ctx.id,
      taskId,
      taskTitle: task.title,
      text: `The agent has done nothing for ${IDLE_MINUTES} minutes. Look at its last step; stop and resume it if it hangs.`,
      since: isoNow(ctx.world),
    })
  }

  return {
    // Called for every piece of text, so the timer is left as it is and looks at the time when it fires.
    moved() {
      movedAt = clock.now()
      if (cancel) return
      ctx.attention.remove(id)
      cancel = clock.after(IDLE_MS, look)
    },
    rest() {
      cancel?.()
      cancel = undefined
      ctx.attention.remove(id)
    },
  }
}
