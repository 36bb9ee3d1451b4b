import * as z from 'zod'
import { Image, QueueMessage } from '../queue-message.ts'
import { Persistence, TaskId, TaskStatus } from '../task.ts'
import { ConfigLayer, ConfigView } from './config-view.ts'
import { DeviceId, DeviceView, PublicJwk } from './device.ts'
import { Cursor, EventPage } from './feed.ts'
import { Problem, ProjectId, ProjectView } from './project.ts'
import { ChangesView, MergeOutcome, MergeRequest, Overlap, SnapshotView, WorktreeView } from './review.ts'
import { route } from './route.ts'
import { Attention, BackgroundProcess, TaskDetail, TaskView, ToolsView } from './task-view.ts'

const text = z.string().max(1_000_000)
const title = z.string().trim().min(1).max(500)
const usd = z.number().nonnegative().max(1_000_000)
const limit = z.coerce.number().int().min(1).max(1000)
const seq = z.coerce.number().int().min(0)
// A program gives a boolean, and the address bar holds a word.
const flag = z.union([z.boolean(), z.stringbool()])
// Whoever repeats a request after a lost answer sends the same id, and it counts once.
const requestId = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/)

const inProject = z.object({ projectId: ProjectId })
/** Task ids may be shortened to their first 8 or more characters. */
const TaskRef = z.string().regex(/^[0-9A-HJKMNP-TV-Z]{8,26}$/i, 'a task id, or the first 8 or more characters of one')
const ofTask = inProject.extend({ taskId: TaskRef })

/** What only has to be found again: never a path upwards, an option of a program, or a property that every object has. */
const reference = (length: number) =>
  z
    .string()
    .min(1)
    .max(length)
    .regex(/^(?![-.\s])(?!.*\.\.)[^\p{Cc}\p{Cs}\\%]+$/u, 'not a name that Matrix gives')
    .refine((text) => text.split(/[./]/).every((part) => !(part in {})), 'not a name that Matrix gives')
const folderPath = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]+$/, 'a path holds no NUL')

const Cost = z.object({
  task: z.string().optional(),
  day: z.string().optional(),
  model: z.string().optional(),
  session: z.string().optional(),
  usd: z.number(),
  turns: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
})

const SearchHit = z.object({
  projectId: ProjectId,
  taskId: z.string(),
  seq: z.number().int(),
  type: z.string(),
  ts: z.string(),
  snippet: z.object({ text: z.string(), marks: z.array(z.tuple([z.number(), z.number()])) }),
})

const NewTask = z.object({
  /** The root when left out. */
  parentId: TaskRef.optional(),
  title,
  description: text.optional(),
  status: z.enum(['draft', 'pending']).optional(),
  folder: z.literal(true).optional(),
  budgetUsd: usd.optional(),
  persistent: Persistence.optional(),
  color: z.string().max(32).optional(),
  agent: z.string().max(200).optional(),
  at: z.number().int().nonnegative().optional(),
})

const TaskEdit = z
  .object({
    title,
    description: text,
    status: TaskStatus,
    budgetUsd: usd.nullable(),
    persistent: Persistence,
    color: z.string().max(32).nullable(),
    parentId: TaskRef,
  })
  .partial()

/** Every operation of the daemon. The keys are the names of the client's methods. */
export const routes = {
  health: route('GET /health', 'system', 'Whether the daemon is alive', {
    access: 'open',
    response: z.object({ ok: z.literal(true), version: z.string() }),
  }),
  ready: route('GET /ready', 'system', 'Whether every session has been resumed and work is taken', {
    access: 'open',
    response: z.object({ ready: z.boolean() }),
  }),
  getStatus: route('GET /api/status', 'system', 'What runs here, since when, and on what', {
    response: z.object({
      version: z.string(),
      pid: z.number().int(),
      startedAt: z.iso.datetime(),
      dataDirectory: z.string(),
      sandbox: z.object({ isActive: z.boolean(), reason: z.string().nullable() }),
      agents: z.object({ live: z.number().int(), working: z.number().int() }),
      provider: z.object({ kind: z.enum(['mock', 'configured', 'missing']), model: z.string().nullable() }),
    }),
  }),

  listProjects: route('GET /api/projects', 'projects', 'All projects', { response: z.array(ProjectView) }),
  registerProject: route('POST /api/projects', 'projects', 'Adds a repository', {
    body: z.object({ path: folderPath, name: z.string().trim().min(1).max(200).optional() }),
    response: ProjectView,
  }),
  updateProject: route('PATCH /api/projects/:projectId', 'projects', 'Renames a project, or says where it has moved', {
    params: inProject,
    body: z.object({ path: folderPath.optional(), name: z.string().trim().min(1).max(200).optional() }),
    response: ProjectView,
  }),
  deregisterProject: route('DELETE /api/projects/:projectId', 'projects', 'Forgets a project; its data stays on disk', {
    params: inProject,
  }),

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
      body: z.object({ text, images: z.array(Image).max(20).optional(), requestId: requestId.optional() }),
      response: z.object({ messageId: z.string() }),
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

  listAttention: route('GET /api/attention', 'attention', 'Everything that waits for a person', {
    query: z.object({ projectId: ProjectId.optional() }),
    response: z.array(Attention),
  }),
  answerQuestion: route('POST /api/projects/:projectId/questions/:questionId', 'attention', 'Answers an agent', {
    params: inProject.extend({ questionId: reference(300) }),
    body: z.object({ answer: text.min(1) }),
  }),
  answerApproval: route(
    'POST /api/projects/:projectId/approvals/:approvalId',
    'attention',
    'Lets a call happen, or not',
    {
      params: inProject.extend({ approvalId: reference(300) }),
      body: z.discriminatedUnion('decision', [
        z.object({ decision: z.literal('deny'), reason: z.string().max(2000).optional() }),
        z.object({
          decision: z.literal('allow'),
          scope: z.enum(['once', 'task', 'always']),
          /** The digest of the arguments that were looked at. */
          inputDigest: z.string(),
        }),
      ]),
    },
  ),
  dismissAttention: route(
    'DELETE /api/attention/:attentionId',
    'attention',
    'Puts a failure or a review aside as seen',
    {
      params: z.object({ attentionId: reference(300) }),
    },
  ),

  getChanges: route(
    'GET /api/projects/:projectId/tasks/:taskId/changes',
    'review',
    'What a task would bring, and whether it merges',
    {
      params: ofTask,
      query: z.object({
        hunks: flag.optional(),
        ignoreWhitespace: flag.optional(),
        /** Only what changed after this commit of the branch. */
        since: z.string().max(64).optional(),
        path: z.string().optional(),
      }),
      response: ChangesView,
    },
  ),
  mergeTask: route('POST /api/projects/:projectId/tasks/:taskId/merge', 'review', 'Merges a task into its target', {
    params: ofTask,
    body: MergeRequest,
    response: MergeOutcome,
  }),
  listOverlaps: route(
    'GET /api/projects/:projectId/overlaps',
    'review',
    'Files that more than one live branch changes',
    {
      params: inProject,
      response: z.array(Overlap),
    },
  ),
  listWorktrees: route(
    'GET /api/projects/:projectId/worktrees',
    'review',
    'Worktrees, their size, and which nobody needs',
    {
      params: inProject,
      response: z.array(WorktreeView),
    },
  ),
  removeWorktree: route(
    'DELETE /api/projects/:projectId/worktrees/:taskId',
    'review',
    'Removes a worktree; unmerged work is kept as a snapshot',
    {
      params: ofTask,
      response: z.object({ snapshot: SnapshotView.nullable() }),
    },
  ),
  listSnapshots: route(
    'GET /api/projects/:projectId/snapshots',
    'review',
    'Work that was saved before its worktree went',
    {
      params: inProject,
      query: z.object({ taskId: TaskRef.optional() }),
      response: z.array(SnapshotView),
    },
  ),
  restoreSnapshot: route(
    'POST /api/projects/:projectId/snapshots/:name/restore',
    'review',
    'Writes the files of a snapshot into a new folder',
    {
      params: inProject.extend({ name: reference(200) }),
      body: z.object({ folder: folderPath }),
      response: SnapshotView,
    },
  ),

  readEvents: route('GET /api/projects/:projectId/tasks/:taskId/events', 'events', 'A page of a conversation', {
    params: ofTask,
    query: z.object({ before: seq.optional(), after: seq.optional(), limit: limit.default(200) }),
    response: EventPage,
  }),
  search: route('GET /api/search', 'events', 'Looks words up in everything ever said and done', {
    query: z.object({
      q: z.string().min(1).max(1000),
      projectId: ProjectId.optional(),
      taskId: TaskId.optional(),
      types: z.string().optional(),
      since: z.iso.datetime().optional(),
      until: z.iso.datetime().optional(),
      limit: limit.default(20),
    }),
    response: z.object({ hits: z.array(SearchHit), complete: z.boolean() }),
  }),
  readCosts: route('GET /api/costs', 'events', 'What was spent, summed as asked', {
    query: z.object({
      projectId: ProjectId.optional(),
      taskId: TaskId.optional(),
      /** Any of task, day, model and session, separated by commas. */
      by: z
        .string()
        .regex(/^(task|day|model|session)(,(task|day|model|session))*$/)
        .default('day'),
      since: z.string().optional(),
      until: z.string().optional(),
    }),
    response: z.array(Cost),
  }),

  readConfig: route('GET /api/config', 'config', 'All settings and where each comes from', {
    query: z.object({ projectId: ProjectId.optional() }),
    response: ConfigView,
  }),
  setConfig: route('PUT /api/config/:layer/:key', 'config', 'Sets one value in one layer', {
    params: z.object({ layer: ConfigLayer, key: reference(200) }),
    query: z.object({ projectId: ProjectId.optional() }),
    body: z.object({ value: z.unknown() }),
    response: ConfigView,
  }),
  unsetConfig: route('DELETE /api/config/:layer/:key', 'config', 'Takes one value out of one layer', {
    params: z.object({ layer: ConfigLayer, key: reference(200) }),
    query: z.object({ projectId: ProjectId.optional() }),
    response: ConfigView,
  }),

  openEnrolment: route('POST /api/auth/enrolment', 'auth', 'Opens five minutes in which one device can be added', {
    access: 'local',
    response: z.object({ code: z.string(), expiresAt: z.iso.datetime() }),
  }),
  enrolDevice: route('POST /api/auth/devices', 'auth', 'Hands in the code and the public key of a new device', {
    access: 'open',
    body: z.object({ code: z.string().max(40), name: z.string().trim().min(1).max(100), key: PublicJwk }),
    response: z.object({ deviceId: z.string(), state: z.enum(['waiting', 'enrolled']) }),
  }),
  confirmDevice: route(
    'POST /api/auth/devices/:deviceId/confirm',
    'auth',
    'Says that the fingerprint is the one on the screen',
    {
      access: 'local',
      params: z.object({ deviceId: DeviceId }),
      response: DeviceView,
    },
  ),
  listDevices: route('GET /api/auth/devices', 'auth', 'Devices that may sign in', { response: z.array(DeviceView) }),
  revokeDevice: route('DELETE /api/auth/devices/:deviceId', 'auth', 'Signs a device out for good', {
    params: z.object({ deviceId: DeviceId }),
  }),
  challenge: route('POST /api/auth/challenge', 'auth', 'Asks for a riddle that only the device can solve', {
    access: 'open',
    body: z.object({ deviceId: DeviceId }),
    response: z.object({ challengeId: z.string(), ciphertext: z.base64() }),
  }),
  answerChallenge: route('POST /api/auth/answer', 'auth', 'Solves the riddle and signs in', {
    access: 'open',
    body: z.object({ challengeId: z.string().max(100), deviceId: DeviceId, proof: z.base64() }),
    response: z.object({ csrfToken: z.string(), expiresAt: z.iso.datetime() }),
  }),
  signOut: route('POST /api/auth/sign-out', 'auth', 'Ends this session', {}),
} as const

export type Routes = typeof routes
export type Operation = keyof Routes

/** The stream of frames is no request with one answer, so it stands beside the routes. */
export const feedPath = '/api/events'
export const FeedQuery = z.object({
  projectId: ProjectId.optional(),
  taskId: TaskId.optional(),
  /** With `taskId`: the last seq of the session that is known; everything after it is sent first. */
  after: seq.optional(),
  /** Where an earlier stream ended, if its `Last-Event-ID` cannot be sent as a header. */
  cursor: Cursor.optional(),
})
export type FeedQuery = z.infer<typeof FeedQuery>

/** What a request that failed is answered with. `field` is where the request itself was wrong. */
export const Failure = Problem.extend({ field: z.string().optional() })
export type Failure = z.infer<typeof Failure>
