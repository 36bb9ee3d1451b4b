import * as z from 'zod'
import { TaskId } from '../../task.ts'
import { SessionConfiguration } from '../configuration.ts'
import { route } from '../route.ts'
import { BackgroundProcess, TaskView, ToolsView } from '../task-view.ts'
import { inProject, ofTask, reference, TaskRef } from './fields.ts'

export const agentRoutes = {
  stopAgent: route('POST /api/projects/:projectId/tasks/:taskId/stop', 'agent', 'Interrupts a task and all below it', {
    params: ofTask,
    response: z.object({ stopped: z.array(TaskId) }),
  }),
  resumeAgent: route(
    'POST /api/projects/:projectId/tasks/:taskId/resume',
    'agent',
    'Lets a stopped task and all below it go on',
    {
      params: ofTask,
      response: z.object({ resumed: z.array(TaskId) }),
    },
  ),
  readConfiguration: route(
    'GET /api/projects/:projectId/tasks/:taskId/configuration',
    'agent',
    'Which model, tools and prompt a session runs with, and which the settings would give it now',
    { params: ofTask, response: SessionConfiguration },
  ),
  restartAgent: route(
    'POST /api/projects/:projectId/tasks/:taskId/restart',
    'agent',
    'Has a session take the configuration of now, with its conversation as it is',
    {
      params: ofTask,
      body: z.object({
        now: z.boolean().optional().describe('Interrupt the agent instead of waiting until it rests.'),
      }),
      response: SessionConfiguration,
    },
  ),
  compactAgent: route(
    'POST /api/projects/:projectId/tasks/:taskId/compact',
    'agent',
    'Has the conversation summed up',
    {
      params: ofTask,
    },
  ),
  forkTask: route('POST /api/projects/:projectId/tasks/:taskId/fork', 'agent', 'Gives a new task what this one knows', {
    params: ofTask,
    body: z.object({
      targetTaskId: TaskRef,
      upTo: z.number().int().positive().optional().describe('The last event it takes over; all of them when left out'),
    }),
    response: TaskView,
  }),
  rewindTask: route(
    'POST /api/projects/:projectId/tasks/:taskId/rewind',
    'agent',
    'Takes the conversation back to an event; files stay as they are',
    {
      params: ofTask,
      body: z.object({ upTo: z.number().int().positive().describe('The last event that still counts') }),
      response: TaskView,
    },
  ),
  repairSession: route(
    'POST /api/projects/:projectId/tasks/:taskId/repair',
    'agent',
    'Makes a damaged conversation usable again',
    {
      params: ofTask,
      response: z
        .object({ outcome: z.enum(['restored', 'cut']), lastSeq: z.number().int(), original: z.string() })
        .nullable(),
    },
  ),
  listTools: route(
    'GET /api/projects/:projectId/tasks/:taskId/tools',
    'agent',
    'Servers and tools, and how far each was checked',
    {
      params: ofTask,
      response: ToolsView,
    },
  ),
  answerDrift: route(
    'POST /api/projects/:projectId/tasks/:taskId/servers/:alias',
    'agent',
    'Agrees to what a server has now, or keeps it from every agent of the project',
    {
      params: ofTask.extend({ alias: reference(64) }),
      body: z.discriminatedUnion('decision', [
        z.object({ decision: z.literal('block') }),
        /** The digest of what was looked at, as `drifted.surface` of the server says it. */
        z.object({ decision: z.literal('approve'), surface: z.string() }),
      ]),
      response: ToolsView,
    },
  ),
  listProcesses: route('GET /api/projects/:projectId/processes', 'agent', 'Commands that run in the background', {
    params: inProject,
    response: z.array(BackgroundProcess),
  }),
  readProcess: route(
    'GET /api/projects/:projectId/processes/:processId',
    'agent',
    'What a background command has written',
    {
      params: inProject.extend({ processId: reference(200) }),
      response: BackgroundProcess.extend({ output: z.string() }),
    },
  ),
  killProcess: route('DELETE /api/projects/:projectId/processes/:processId', 'agent', 'Ends a background command', {
    params: inProject.extend({ processId: reference(200) }),
  }),
} as const
