import { readPage } from '@matrix/event-store'
import { MatrixError, queueMessage } from '@matrix/protocol'
import type { BackgroundProcess, EventPage, Problem } from '@matrix/protocol/http'
import { answerApproval } from './approvals.ts'
import { openForLook, readConfiguration } from './configuration.ts'
import { deliverMessage } from './delivery.ts'
import { closeForward, openForward, viewForward } from './forwards.ts'
import { problemOf, showProblem } from './halt.ts'
import type { Operations } from './operations.ts'
import { findOverlaps } from './overlaps.ts'
import { type ProjectContext, roleOf, taskAbove } from './project-context.ts'
import { answerQuestion } from './question.ts'
import { repairTask } from './resume.ts'
import { mergeTask, readTaskChanges } from './review.ts'
import { findDecision, keepChoice, readSetup } from './setup/setup.ts'
import { undecided } from './setup/setup-decision.ts'
import { compactTask, runSlashCommand } from './slash.ts'
import { restartAgent, resumeAgents, stopAgents } from './stop.ts'
import { viewTask, viewTaskDetail } from './task-view.ts'
import {
  chooseAgent,
  closeTask,
  createTask,
  deleteTask,
  forkTask,
  reorderTasks,
  resetTask,
  rewindTask,
  updateTask,
} from './tasks.ts'
import { isoNow } from './world.ts'

const byUser = { editedBy: 'user' } as const

/** The operations that concern one project, each as a function of it. */
type ProjectOperation = {
  [Op in keyof Operations]: Parameters<Operations[Op]>[0]['params'] extends { projectId: string } ? Op : never
}[keyof Operations]

type Named = Exclude<ProjectOperation, 'updateProject' | 'deregisterProject' | 'answerDrift'>

export type ProjectOperations = {
  [Op in Named]: (ctx: ProjectContext, request: Parameters<Operations[Op]>[0]) => ReturnType<Operations[Op]>
}

export const projectOperations: ProjectOperations = {
  listTasks: async (ctx) => ctx.tree.list().map((task) => viewTask(ctx, task)),
  async createTask(ctx, { body: { parentId, ...input } }) {
    const task = await createTask(ctx, parentId ?? ctx.tree.root().id, withoutUndefined(input), byUser)
    return viewTask(ctx, task)
  },
  async getTask(ctx, { params }) {
    const task = ctx.tree.get(params.taskId)
    const { agent, childAgent } = await ctx.settings()
    const named = [task, ...ctx.tree.ancestors(task.id)].find((each) => each.agent !== undefined)?.agent
    const given = task.worktreePath ? await ctx.prompts.instructions?.(task.worktreePath) : []
    return {
      ...viewTaskDetail(ctx, task, named ?? (roleOf(task) === 'root' ? agent : (childAgent ?? agent))),
      instructions: given?.map(({ path, origin, notes }) => ({ path, origin, notes })),
    }
  },
  updateTask: async (ctx, { params, body }) =>
    viewTask(ctx, await updateTask(ctx, params.taskId, withoutUndefined(body), byUser)),
  async deleteTask(ctx, { params }) {
    await deleteTask(ctx, ctx.tree.get(params.taskId).id, byUser)
    return null
  },
  closeTask: async (ctx, { params }) => viewTask(ctx, await closeTask(ctx, ctx.tree.get(params.taskId).id, byUser)),
  resetTask: async (ctx, { params }) => viewTask(ctx, await resetTask(ctx, ctx.tree.get(params.taskId).id, byUser)),
  reorderTasks: async (ctx, { params, body }) =>
    viewTask(ctx, await reorderTasks(ctx, params.taskId, body.children, byUser)),
  async sendMessage(ctx, { params, body }) {
    const task = ctx.tree.get(params.taskId)
    const id = `user/${body.requestId ?? ctx.world.newId()}`
    const { images, agent } = body
    if (agent !== undefined && agent !== task.agent) await chooseAgent(ctx, task, agent)
    const said = images?.length ? { text: body.text } : await runSlashCommand(ctx, task.id, body.text)
    if ('command' in said) return { messageId: id, waitsFor: null, command: said.command }
    const { text } = said
    const waitsFor = task.worktreePath === null ? await findObstacle(ctx) : null
    await deliverMessage(ctx, task.id, queueMessage.user({ id, text, ...(images?.length && { images }) }), {
      byPerson: true,
    })
    await tellTaskAbove(ctx, task.id, id, text)
    return { messageId: id, waitsFor }
  },
  listMessages: async (ctx, { params }) => [...ctx.facts.of(ctx.tree.get(params.taskId).id).state.pending],
  async withdrawMessage(ctx, { params }) {
    const task = ctx.tree.get(params.taskId)
    const agent = ctx.agents.get(task.id)
    const isPending = ctx.facts.of(task.id).state.pending.some(({ id }) => id === params.messageId)
    if (!isPending || (agent && !agent.queue.withdraw(params.messageId)))
      throw new MatrixError('MESSAGE_CONSUMED', 'This message does not wait any more')
    const ts = new Date(ctx.world.clock.now()).toISOString()
    await ctx.log.append(task.id, [{ type: 'messages_withdrawn', taskId: task.id, ts, messageIds: [params.messageId] }])
    ctx.touch(task.id)
    return null
  },

  getSetup: (ctx) => readSetup(ctx),
  async decideSetup(ctx, { body }) {
    await keepChoice(ctx, body)
    return readSetup(ctx)
  },

  listSkills: (ctx) => ctx.skills.list(),
  getSkill: (ctx, { params }) => ctx.skills.show(params.name),
  approveSkill: (ctx, { params, body }) => ctx.skills.approve(params.name, body.digest),

  stopAgent: async (ctx, { params }) => ({ stopped: await stopAgents(ctx, ctx.tree.get(params.taskId).id) }),
  resumeAgent: async (ctx, { params }) => ({ resumed: await resumeAgents(ctx, ctx.tree.get(params.taskId).id) }),
  readConfiguration: (ctx, { params }) => readConfiguration(ctx, params.taskId),
  restartAgent: (ctx, { params, body }) => restartAgent(ctx, params.taskId, { now: body.now ?? false }),
  async compactAgent(ctx, { params }) {
    await compactTask(ctx, params.taskId)
    return null
  },
  forkTask: async (ctx, { params, body }) =>
    viewTask(ctx, await forkTask(ctx, params.taskId, body.targetTaskId, { upTo: body.upTo })),
  rewindTask: async (ctx, { params, body }) => viewTask(ctx, await rewindTask(ctx, params.taskId, body.upTo)),
  async repairSession(ctx, { params }) {
    const repair = await repairTask(ctx, params.taskId)
    return repair ? { outcome: repair.outcome, lastSeq: repair.lastSeq, original: repair.kept } : null
  },
  async listTools(ctx, { params }) {
    const task = ctx.tree.get(params.taskId)
    const running = ctx.agents.get(task.id)?.tools
    if (running) return running.view()
    const tools = await openForLook(ctx, task)
    return tools.view().finally(() => tools.close())
  },
  listProcesses: async (ctx) =>
    [...ctx.processes].map(
      ([id, { taskId, command, startedAt }]): BackgroundProcess => ({
        id,
        taskId,
        command,
        startedAt,
        exitCode: null,
        isRunning: true,
      }),
    ),
  async readProcess(ctx, { params }) {
    const { taskId, command, startedAt, read } = processOf(ctx, params.processId)
    const output = await read()
    return { id: params.processId, taskId, command, startedAt, exitCode: null, isRunning: true, output }
  },
  async killProcess(ctx, { params }) {
    await processOf(ctx, params.processId).kill()
    return null
  },

  listForwards: async (ctx) => [...ctx.forwards.values()].map(viewForward),
  openForward: (ctx, { params, body }) => openForward(ctx, params.taskId, body),
  async closeForward(ctx, { params }) {
    await closeForward(ctx, params.forwardId)
    return null
  },

  async answerQuestion(ctx, { params, body }) {
    await answerQuestion(ctx, params.questionId, body.answer)
    return null
  },
  async answerApproval(ctx, { params, body }) {
    answerApproval(ctx, params.approvalId, body)
    return null
  },

  getChanges: (ctx, { params, query }) =>
    readTaskChanges(ctx, params.taskId, {
      withHunks: query.hunks === true,
      ignoreWhitespace: query.ignoreWhitespace === true,
      ...(query.since !== undefined && { since: query.since }),
      ...(query.path !== undefined && { paths: [query.path] }),
    }),
  // Only users merge this way, so acceptFlagged is always set: the tool of agents merges into a branch of agents.
  mergeTask: (ctx, { params, body }) => mergeTask(ctx, params.taskId, withoutUndefined(body)),
  listOverlaps: (ctx) => findOverlaps(ctx),
  async listWorktrees(ctx) {
    const [listed, sizes, stale] = await Promise.all([
      ctx.worktrees.list(),
      ctx.worktrees.diskUse(),
      ctx.worktrees.findStale(ctx.tree.list()),
    ])
    return listed.map((each) => ({
      ...each,
      bytes: sizes.find(({ taskId }) => taskId === each.taskId)?.bytes ?? null,
      stale: stale.find(({ taskId }) => taskId === each.taskId)?.why ?? null,
    }))
  },
  async removeWorktree(ctx, { params }) {
    const task = ctx.tree.find(params.taskId)
    const taskId = task?.id ?? params.taskId
    if (ctx.agents.has(taskId)) throw new MatrixError('AGENT_BUSY', `Task ${taskId} is running`)
    const baseBranch = (task && taskAbove(ctx, task.id)?.branch) ?? ctx.tree.root().baseBranch
    const { snapshot } = await ctx.worktrees.remove({ taskId, ...(baseBranch && { baseBranch }) })
    const kept = snapshot === null ? undefined : (await ctx.worktrees.snapshots()).find(({ name }) => name === snapshot)
    return { snapshot: kept ?? null }
  },
  listSnapshots: (ctx, { query }) => ctx.worktrees.snapshots(query.taskId && ctx.tree.find(query.taskId)?.id),
  restoreSnapshot: (ctx, { params, body }) => ctx.worktrees.restore(params.name, body.folder),

  async readEvents(ctx, { params, query }): Promise<EventPage> {
    const { id } = ctx.tree.get(params.taskId)
    const lastSeq = await ctx.store.lastSeq(id)
    if (query.after === undefined) {
      const { before, limit } = query
      const page = await readPage(ctx.store, id, { limit, ...(before !== undefined && { before }) })
      return { ...page, lastSeq }
    }
    const events: EventPage['events'] = []
    for await (const batch of ctx.store.read(id, { after: query.after, limit: query.limit })) events.push(...batch)
    return { events, lastSeq, more: (events.at(-1)?.seq ?? lastSeq) < lastSeq }
  },
}

/** What keeps a task from starting that has no worktree yet. The message to it is kept, and read once that is settled. */
async function findObstacle(ctx: ProjectContext): Promise<Problem | null> {
  const nameless = await ctx.setup.checkIdentity().then(() => null, problemOf)
  if (nameless) return nameless
  if (await findDecision(ctx)) return null
  return undecided('The task waits: the setup of this project is not decided').toJSON()
}

/** The task above hears what a person said to one of its sub tasks, if it is at work. */
async function tellTaskAbove(ctx: ProjectContext, taskId: string, messageId: string, text: string): Promise<void> {
  const above = taskAbove(ctx, taskId)
  if (above?.status !== 'in_progress') return
  const { title } = ctx.tree.get(taskId)
  const message = queueMessage.userMessageForwarded({
    id: `${messageId}/forwarded`,
    toTaskId: taskId,
    toTitle: title,
    text,
  })
  // What the person said has arrived where they said it; that it is not heard above is another problem.
  await deliverMessage(ctx, above.id, message, { wake: !ctx.halted.has(above.id) }).catch((error) =>
    showProblem(ctx, above, problemOf(error), isoNow(ctx.world)),
  )
}

function processOf(ctx: ProjectContext, processId: string) {
  const found = ctx.processes.get(processId)
  if (found) return found
  throw new MatrixError('PROCESS_UNKNOWN', 'There is no such background process any more')
}

/** What was left out of a request must not stand in the way as `undefined`. */
function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never
}
