import { MatrixError } from '@matrix/protocol'
import type { Forward } from '@matrix/protocol/http'
import type { ProjectContext } from './project-context.ts'
import type { PortForward } from './tool-host.ts'

export type OpenForward = Forward & Pick<PortForward, 'close'>

/** Forwards a port of a task's sandbox; the same one twice is one forward. */
export async function openForward(
  ctx: ProjectContext,
  taskId: string,
  { port, to }: { port: number; to?: number | undefined },
): Promise<Forward> {
  const task = ctx.tree.get(taskId)
  const id = `${task.id}-${port}`
  const known = ctx.forwards.get(id)
  if (known && (to === undefined || to === known.localPort)) return viewForward(known)
  if (!task.worktreePath || !ctx.tools.forward)
    throw new MatrixError('PORT_UNUSED', `Nothing listens on port ${port} in the sandbox of this task.`)
  const forward = await ctx.tools.forward({ worktree: task.worktreePath, port, to })
  await known?.close()
  const { localPort } = forward
  const open: OpenForward = {
    ...{ id, taskId: task.id, port, localPort, url: `http://127.0.0.1:${localPort}/` },
    close: forward.close,
  }
  ctx.forwards.set(id, open)
  void forward.ended.then(() => ctx.forwards.get(id) === open && ctx.forwards.delete(id))
  return viewForward(open)
}

export async function closeForward(ctx: ProjectContext, id: string): Promise<void> {
  const open = ctx.forwards.get(id)
  if (!open) throw new MatrixError('FORWARD_UNKNOWN', `No port is forwarded as ${id}.`)
  await open.close()
}

export function viewForward({ close: _, ...forward }: OpenForward): Forward {
  return forward
}
