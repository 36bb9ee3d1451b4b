import type { ProjectContext } from './project-context.ts'

/**
 * Archives the conversations of closed tasks, all but the newest `sessionKeep`. Those of tasks that have passed or failed stay:
 * whoever sends such a task a message goes on with it.
 */
export async function archiveOldSessions(ctx: ProjectContext): Promise<void> {
  const { sessionKeep } = await ctx.settings()
  if (sessionKeep === undefined) return
  await ctx.store.index.catchUp()
  const isClosed = (taskId: string) => ctx.tree.find(taskId)?.status === 'closed' && !ctx.agents.has(taskId)
  const closed = ctx.store.index.sessions().filter(({ sessionId, archive }) => !archive && isClosed(sessionId))
  closed.sort((a, b) => (b.lastAt ?? '').localeCompare(a.lastAt ?? ''))
  for (const { sessionId } of closed.slice(sessionKeep)) {
    if (ctx.isClosing) return
    await ctx.log.release(sessionId, (fence) => ctx.store.archiveSession(sessionId, fence))
    ctx.facts.forget(sessionId)
    ctx.touch(sessionId)
  }
}
