import { type CommandName, MatrixError, parseComposed, queueMessage } from '@matrix/protocol'
import { deliverMessage } from './delivery.ts'
import type { ProjectContext } from './project-context.ts'
import { mergeTask } from './review.ts'
import { resumeAgents, stopAgents } from './stop.ts'
import { closeTask, createTask, forkTask, resetTask, updateTask } from './tasks.ts'

const byUser = { editedBy: 'user' } as const

type Run = (ctx: ProjectContext, taskId: string, argument: string) => Promise<unknown>

/** What each command does when it arrives as a message, from the command line or over HTTP. */
const commands: Record<CommandName, Run> = {
  stop: stopAgents,
  resume: resumeAgents,
  compact: compactTask,
  budget: (ctx, taskId, argument) => updateTask(ctx, taskId, { budgetUsd: readUsd(argument) }, byUser),
  review: async () => {
    throw new MatrixError('REQUEST_INVALID', '/review is for the page alone', { hint: 'Run matrix diff <task>.' })
  },
  merge: (ctx, taskId) => mergeTask(ctx, taskId, { how: 'merge' }),
  squash: (ctx, taskId) => mergeTask(ctx, taskId, { how: 'squash' }),
  fork: forkBeside,
  close: (ctx, taskId) => closeTask(ctx, taskId, byUser),
  reset: (ctx, taskId) => resetTask(ctx, taskId, byUser),
}

/** The words for the agent, or the command that stood in their place and has been run. */
export async function runSlashCommand(
  ctx: ProjectContext,
  taskId: string,
  text: string,
): Promise<{ text: string } | { command: CommandName }> {
  if (!text.trim().startsWith('/')) return { text }
  const composed = parseComposed(text)
  if (composed.kind === 'message') return { text: composed.text }
  if (composed.kind === 'unknown command')
    throw new MatrixError('REQUEST_INVALID', `There is no command /${composed.name}`, {
      hint: 'Two slashes send it as a message.',
    })
  await commands[composed.name](ctx, taskId, composed.argument)
  return { command: composed.name }
}

/** Has the conversation of a task compacted. */
export async function compactTask(ctx: ProjectContext, taskId: string): Promise<void> {
  const message = queueMessage.compact({ id: `compact/${ctx.world.newId()}` })
  await deliverMessage(ctx, taskId, message, { byPerson: true })
}

/** A new task beside this one that starts with what this one knows. */
async function forkBeside(ctx: ProjectContext, taskId: string, title: string): Promise<void> {
  const source = ctx.tree.get(taskId)
  const input = { title: title || `${source.title} (fork)`, description: source.description }
  const target = await createTask(ctx, source.parentId ?? source.id, input, byUser)
  await forkTask(ctx, source.id, target.id)
}

function readUsd(text: string): number {
  const usd = Number(text.replace(/^\$/, ''))
  if (text !== '' && Number.isFinite(usd) && usd >= 0) return usd
  throw new MatrixError('REQUEST_INVALID', `Not an amount of dollars: ${text || 'nothing'}`, {
    hint: 'Write a number, as in /budget 5.',
  })
}
