import * as z from 'zod'
import { budgetFields } from '../../budget.ts'
import { Image, QueueMessage } from '../../queue-message.ts'
import { Persistence, SkillNames, TaskStatus } from '../../task.ts'
import { Problem } from '../project.ts'
import { route } from '../route.ts'
import { TaskDetail, TaskView } from '../task-view.ts'
import { inProject, ofTask, reference, requestId, TaskRef, text, title } from './fields.ts'

const NewTask = z.object({
  /** The root when left out. */
  parentId: TaskRef.optional(),
  title,
  description: text.optional(),
  status: z.enum(['draft', 'pending']).optional(),
  folder: z.literal(true).optional(),
  ...z.object(budgetFields).partial().shape,
  persistent: Persistence.optional(),
  color: z.string().max(32).optional(),
  agent: z.string().max(200).optional(),
  skills: SkillNames.optional(),
  at: z.number().int().nonnegative().optional(),
})

const { budgetUsd, budgetTokens, budgetMinutes } = budgetFields
/** `null` removes the budget. */
const nullableBudgets = {
  budgetUsd: budgetUsd.nullable(),
  budgetTokens: budgetTokens.nullable(),
  budgetMinutes: budgetMinutes.nullable(),
}

const TaskEdit = z
  .object({
    title,
    description: text,
    status: TaskStatus,
    ...nullableBudgets,
    persistent: Persistence,
    color: z.string().max(32).nullable(),
    /** `null` detaches all. */
    skills: SkillNames.nullable(),
    parentId: TaskRef,
  })
  .partial()

export const taskRoutes = {
  listTasks: route('GET /api/projects/:projectId/tasks', 'tasks', 'The whole tree, parents before their children', {
    params: inProject,
    response: z.array(TaskView),
  }),
  createTask: route('POST /api/projects/:projectId/tasks', 'tasks', 'Adds a task', {
    params: inProject,
    body: NewTask,
    response: TaskView,
  }),
  getTask: route('GET /api/projects/:projectId/tasks/:taskId', 'tasks', 'One task with what waits for it', {
    params: ofTask,
    response: TaskDetail,
  }),
  updateTask: route('PATCH /api/projects/:projectId/tasks/:taskId', 'tasks', 'Changes a task or moves it', {
    params: ofTask,
    body: TaskEdit,
    response: TaskView,
  }),
  deleteTask: route('DELETE /api/projects/:projectId/tasks/:taskId', 'tasks', 'Removes a task and all below it', {
    params: ofTask,
  }),
  closeTask: route('POST /api/projects/:projectId/tasks/:taskId/close', 'tasks', 'Ends a task for good', {
    params: ofTask,
    response: TaskView,
  }),
  resetTask: route(
    'POST /api/projects/:projectId/tasks/:taskId/reset',
    'tasks',
    'Brings a task back to its beginning',
    {
      params: ofTask,
      response: TaskView,
    },
  ),
  reorderTasks: route(
    'POST /api/projects/:projectId/tasks/:taskId/order',
    'tasks',
    'Puts the children in a new order',
    {
      params: ofTask,
      body: z.object({ children: z.array(TaskRef).max(10_000) }),
      response: TaskView,
    },
  ),
  sendMessage: route(
    'POST /api/projects/:projectId/tasks/:taskId/message',
    'tasks',
    'Says something to a task: starts its agent, wakes it or reaches it while it works',
    {
      params: ofTask,
      body: z.object({
        text,
        images: z.array(Image).max(20).optional(),
        requestId: requestId.optional(),
        /** By which agent the task works from now on: one that has begun, from its next reset or compaction. */
        agent: z.string().max(200).optional(),
      }),
      response: z.object({
        messageId: z.string(),
        /** Why the message is kept but its agent cannot start; null where nothing is in the way. */
        waitsFor: Problem.nullable(),
        /** The slash command that was run; nothing was said to the agent then. */
        command: z.string().optional(),
      }),
    },
  ),
  listMessages: route('GET /api/projects/:projectId/tasks/:taskId/messages', 'tasks', 'What waits to be consumed', {
    params: ofTask,
    response: z.array(QueueMessage),
  }),
  withdrawMessage: route(
    'DELETE /api/projects/:projectId/tasks/:taskId/messages/:messageId',
    'tasks',
    'Takes a message back that was not consumed yet',
    { params: ofTask.extend({ messageId: reference(300) }) },
  ),
} as const
