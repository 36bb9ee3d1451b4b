import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type NodeOrchestratorOptions, type Orchestrator, openNodeOrchestrator } from '@matrix/orchestrator'
import { type ErrorCode, errors, MatrixError, printableLine, type TaskBudgets } from '@matrix/protocol'
import type { Frame, Problem, ProjectView, TaskDetail, TaskView } from '@matrix/protocol/http'
import { type BudgetOptions, readBudgets, readDuration } from '../budget-options.ts'
import { findCheckout } from '../checkout.ts'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode, exitCodeOf } from '../exit-code.ts'
import { runHeadless } from '../headless-run.ts'
import { readInput } from '../input-file.ts'
import { interruptSignal } from '../interrupt.ts'
import { onReaderGone } from '../reader.ts'
import { openRunPlace, type RunPlace, removeLeftovers } from '../run-place.ts'
import { codeOf, type Ending, type Merged, type RunResult, report } from '../run-result.ts'
import { choiceOfFlag } from '../setup-choice.ts'
import { printError, printJsonLine } from '../terminal.ts'
import { openTranscript } from '../transcript.ts'
import { stateOf } from '../tree-lines.ts'

export type RunOptions = BudgetOptions & {
  folder?: string
  data?: string
  keep?: boolean
  model?: string
  timeout?: string
  yesFor?: string[]
  setup?: string
  allowHost?: string[]
  merge?: boolean
  acceptFlagged?: boolean
  unsandboxed?: boolean
  verbose?: boolean
  json?: boolean
  /** The sample project instead of one of the user's, played by the mock provider while no key is configured. */
  demo?: boolean
}

/** One goal, in this process: the same agents as in the daemon, and an exit code that says how it went. Every way out is reported. */
export async function run(words: readonly string[], options: RunOptions): Promise<ExitCode> {
  const startedAt = Date.now()
  const plan = await readPlan(words, options)
  const stops = watchStops(plan.timeoutMs)
  const place = await openRunPlace(options.data).catch(brokenOff)
  const { isKept, ...ended } = 'folder' in place ? await attempt(plan, place, stops, options).catch(brokenOff) : place
  const folder = 'folder' in place && (isKept || options.keep || !place.isOwn) ? place.folder : null
  if (folder === null && 'folder' in place) await place.remove()
  report({ ...ended, seconds: (Date.now() - startedAt) / 1000, dataDirectory: folder }, options)
  return ended.exitCode
}

type Plan = {
  goal: string | undefined
  budgets: TaskBudgets
  timeoutMs: number | undefined
  /** The user's repository; nothing for the demo, which makes one. */
  repository: string | undefined
  demo: typeof import('@matrix/demo') | undefined
}

async function readPlan(words: readonly string[], options: RunOptions): Promise<Plan> {
  const demo = options.demo ? await import('@matrix/demo') : undefined
  return {
    demo,
    goal: demo ? demo.goal : await readGoal(words, options),
    budgets: readBudgets(options),
    timeoutMs: options.timeout === undefined ? undefined : readDuration(options.timeout),
    repository: demo ? undefined : await findCheckout(options.folder ?? '.'),
  }
}

/** A result, before it is known how long it took. `isKept`: there is something in the data directory that can be resumed. */
type Ended = Omit<RunResult, 'seconds' | 'dataDirectory'> & { isKept: boolean }

async function attempt(plan: Plan, place: RunPlace, stops: Stops, options: RunOptions): Promise<Ended> {
  const settings = orchestratorOptions(place.folder, options)
  const checkout = plan.repository ?? join(place.folder, 'demo', 'tally')
  const orchestrator = await (plan.demo
    ? plan.demo.openDemo({ ...settings, pace: { thinkMs: 100, typeMs: 0 }, begins: false })
    : openNodeOrchestrator(settings))
  try {
    const early = plan.demo ? [] : await findObstacles(orchestrator, checkout)
    // Of a run that is continued, nothing may start before that is known.
    if (early.length > 0 && options.data !== undefined) return refuse(early)
    await orchestrator.resume()
    const project = await openProject(orchestrator, checkout)
    const obstacles = plan.demo ? [] : [...early, ...(await settleSetup(orchestrator, project, options))]
    if (obstacles.length > 0) return refuse(obstacles)
    for (const host of options.allowHost ?? [])
      await orchestrator.addHost({ params: {}, query: { projectId: project.id }, body: { host } })
    const root = await prepareRoot(orchestrator, project, { budgets: plan.budgets, model: options.model })
    return await drive(orchestrator, { project, root, goal: plan.goal, place, stops, options })
  } finally {
    await orchestrator.close()
  }
}

type Drive = {
  project: ProjectView
  root: TaskView
  goal: string | undefined
  place: RunPlace
  stops: Stops
  options: RunOptions
}

async function drive(
  orchestrator: Orchestrator,
  { project, root, goal, place, stops, options }: Drive,
): Promise<Ended> {
  const progress = options.json ? { frame: printJsonLine, close: () => undefined } : openProgress(options, root)
  let isAnswered = false
  const outcome = await runHeadless(orchestrator, {
    project,
    rootId: root.id,
    goal,
    // The first of the answers that the story offers.
    ...(options.demo && { answer: ({ options: offered }) => offered?.[0] ?? 'As you think best.' }),
    isAgreed: (approval) => (options.yesFor ?? []).some((pattern) => agrees(pattern, approval)),
    onFrame(frame) {
      isAnswered ||= isAnswer(frame)
      progress.frame(frame)
    },
    signal: stops.signal,
  }).catch(brokenOff)
  progress.close()
  const result = outcome.result === 'aborted' ? stops.ending() : outcome.result
  const problem = stops.fault() ?? outcome.problem
  const merged =
    options.merge && result === 'passed' ? await mergeRoot(orchestrator, project, root.id, options) : undefined
  const task = await getTask(orchestrator, project, root.id).catch(() => root)
  const exitCode = 'exitCode' in outcome ? outcome.exitCode : codeOf(result, merged)
  const ended = { ...outcome, result, problem, merged, exitCode, task }
  // What did not end well can be looked at and resumed; before a model has said anything, there is nothing to look at.
  if (!place.isOwn || options.keep || (result !== 'passed' && isAnswered)) return { ...ended, isKept: true }
  const removed = await removeLeftovers(orchestrator, { project, root: task, isMerged: merged?.outcome === 'merged' })
  if (!removed) return { ...ended, isKept: true }
  const branch = task.branch && removed.has(task.branch) ? null : task.branch
  return { ...ended, task: { ...task, branch }, isKept: false }
}

function isAnswer(frame: Frame): boolean {
  return frame.kind === 'event' && (frame.event.type === 'assistant_text' || frame.event.type === 'tool_call')
}

/** What Matrix itself could not do, as a result like any other. */
function brokenOff(error: unknown): Ended {
  const known = error instanceof MatrixError ? error : findFullDisk(error)
  const fault = known ?? new MatrixError('INTERNAL', error instanceof Error ? error.message : String(error))
  if (!known && process.env.MATRIX_DEBUG && error instanceof Error) printError(error.stack ?? '')
  const code = known ? exitCodeOf(known) : exitCode.usage
  return { result: 'error', output: '', problem: fault.toJSON(), task: null, exitCode: code, isKept: false }
}

function findFullDisk(error: unknown): MatrixError | undefined {
  if (!(error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')))
    return undefined
  return new MatrixError('STORAGE_FULL', error.message, { cause: error })
}

/** What ends a run from outside: a signal, the time, a reader that is gone, a fault that nothing caught. */
type Stops = { signal: AbortSignal; ending(): Ending; fault(): Problem | undefined }

function watchStops(timeoutMs: number | undefined): Stops {
  const timedOut = timeoutMs === undefined ? new AbortController().signal : AbortSignal.timeout(timeoutMs)
  const faulty = new AbortController()
  process.on('uncaughtException', (error) => faulty.abort(error))
  const gone = new AbortController()
  onReaderGone(() => gone.abort())
  return {
    signal: AbortSignal.any([interruptSignal(), timedOut, gone.signal, faulty.signal]),
    ending: () => (faulty.signal.aborted ? 'error' : timedOut.aborted ? 'timed out' : 'aborted'),
    fault: () => (faulty.signal.aborted ? (brokenOff(faulty.signal.reason).problem ?? undefined) : undefined),
  }
}

/** Everything that would stop the run later is said at once, before anything is made. */
async function findObstacles(orchestrator: Orchestrator, checkout: string): Promise<Problem[]> {
  const { findIdentity } = await import('@matrix/task-tree')
  const nameless = await findIdentity(checkout).then(
    () => [],
    (error: MatrixError) => [error],
  )
  const noKey = new MatrixError('CONFIG_INVALID', 'No key is set, so agents have no model to think with.', {
    hint: 'Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or keep one with matrix auth set anthropic.',
  })
  const obstacles = [...(orchestrator.provider().kind === 'missing' ? [noKey] : []), ...nameless]
  return obstacles.map((error) => error.toJSON())
}

/** The setup is what the flags say, else what the user decided for this repository with matrix init. */
async function settleSetup(
  orchestrator: Orchestrator,
  project: ProjectView,
  { setup, yesFor = [] }: RunOptions,
): Promise<Problem[]> {
  const request = { params: { projectId: project.id }, query: {} }
  const view = await orchestrator.getSetup({ ...request, body: undefined })
  const flag = setup ?? (yesFor.includes('setup') ? 'auto' : undefined)
  const choice = flag === undefined ? undefined : await choiceOfFlag(view, flag)
  if (choice) await orchestrator.decideSetup({ ...request, body: choice })
  if (choice || view.decision) return []
  const { findSetupChoice } = await import('@matrix/orchestrator')
  const known = await findSetupChoice(dataFolder(), project.path)
  if (known) {
    const now = await orchestrator.decideSetup({ ...request, body: known })
    if (now.decision) return []
  }
  return [
    new MatrixError('SETUP_UNDECIDED', 'What a new worktree needs is not decided.', {
      hint: 'Give --setup auto, --setup none or --setup <file>, or decide it once with matrix init.',
    }).toJSON(),
  ]
}

function refuse(problems: Problem[]): Ended {
  const [problem = null] = problems
  return { result: 'refused', output: '', problem, problems, task: null, exitCode: exitCode.findings, isKept: false }
}

async function readGoal(words: readonly string[], { data }: RunOptions): Promise<string | undefined> {
  if (words.length === 1 && words[0] === '-') return (await readInput('-', 1_000_000)).toString('utf8')
  if (words.length > 0) return words.join(' ')
  if (data !== undefined && existsSync(join(data, 'projects.json'))) return undefined
  if (data !== undefined)
    throw new MatrixError('REQUEST_INVALID', `There is no run in ${printableLine(data)} to go on with.`, {
      hint: 'Look for a slip in its name, or say what is to be done.',
    })
  throw new MatrixError('REQUEST_INVALID', 'There is no goal.', {
    hint: 'Say what is to be done, or give --data to go on with a run that was interrupted.',
  })
}

function orchestratorOptions(
  dataDirectory: string,
  { unsandboxed, verbose }: RunOptions,
): NodeOrchestratorOptions & { dataDirectory: string } {
  // Packages are the same for everybody, so they are fetched once and not for each run.
  const packagesDirectory = join(dataFolder(), 'packages')
  const options = { dataDirectory, packagesDirectory, note: 'matrix run', ...(unsandboxed && { unboxedAgreed: true }) }
  if (!verbose) return options
  return { ...options, log: ({ level, message }) => printError(`${level}: ${printableLine(message)}`) }
}

async function openProject(orchestrator: Orchestrator, checkout: string): Promise<ProjectView> {
  const known = (await orchestrator.listProjects({ params: {}, query: {}, body: undefined })).find(
    ({ path }) => path === checkout,
  )
  const project = known ?? (await orchestrator.registerProject({ params: {}, query: {}, body: { path: checkout } }))
  if (!project.problem) return project
  const { code, message, hint } = project.problem
  throw new MatrixError(Object.hasOwn(errors, code) ? (code as ErrorCode) : 'PROJECT_UNUSABLE', message, { hint })
}

type Wishes = { budgets: TaskBudgets; model: string | undefined }

async function prepareRoot(
  orchestrator: Orchestrator,
  project: ProjectView,
  { budgets, model }: Wishes,
): Promise<TaskView> {
  const { id: projectId, rootTaskId } = project
  if (rootTaskId === null) throw new MatrixError('TREE_MISSING', `${project.name} has no root task.`)
  if (model !== undefined)
    await orchestrator.setConfig({
      params: { layer: 'local', key: 'model' },
      query: { projectId },
      body: { value: model },
    })
  if (Object.keys(budgets).length > 0)
    await orchestrator.updateTask({ params: { projectId, taskId: rootTaskId }, query: {}, body: budgets })
  return getTask(orchestrator, project, rootTaskId)
}

function getTask(orchestrator: Orchestrator, { id: projectId }: ProjectView, taskId: string): Promise<TaskDetail> {
  return orchestrator.getTask({ params: { projectId, taskId }, query: {}, body: undefined })
}

/** What is in the way of a merge takes nothing from what the run has done. */
async function mergeRoot(
  orchestrator: Orchestrator,
  { id: projectId }: ProjectView,
  taskId: string,
  options: RunOptions,
): Promise<Merged> {
  const params = { projectId, taskId }
  try {
    const { head, flagged } = await orchestrator.getChanges({ params, query: {}, body: undefined })
    const acceptFlagged = options.acceptFlagged ? flagged.map(({ path }) => path) : []
    const body = { how: 'merge' as const, updateCheckout: true, expectedHead: head, acceptFlagged }
    return await orchestrator.mergeTask({ params, query: {}, body })
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { outcome: 'refused', problem: error.toJSON() }
  }
}

function openProgress(
  { verbose = false, yesFor = [] }: RunOptions,
  root: TaskView,
): { frame(frame: Frame): void; close(): void } {
  const tasks = new Map([[root.id, root]])
  const transcript = openTranscript({ verbose, isMany: true, titleOf: (id) => tasks.get(id)?.title })
  return {
    frame(frame) {
      if (frame.kind === 'event') transcript.event(frame.taskId, frame.event)
      if (frame.kind === 'attention' && frame.attention.approval)
        transcript.note(frame.attention.taskId, askedFor(frame.attention.approval, yesFor))
      if (frame.kind !== 'task') return
      const before = tasks.get(frame.task.id)
      const [was, now] = [before && stateOf(before), stateOf(frame.task)]
      tasks.set(frame.task.id, frame.task)
      if (was !== now) transcript.note(frame.task.id, was === undefined ? now : `${was} → ${now}`)
    },
    close: transcript.close,
  }
}

function askedFor(
  approval: { uri: string; sideEffect: string; host?: string | undefined },
  yesFor: readonly string[],
): string {
  const uri = printableLine(approval.uri)
  if (yesFor.some((pattern) => agrees(pattern, approval))) return `allowed ${uri}`
  if (approval.host)
    return `denied ${printableLine(approval.host)}: --allow-host ${printableLine(approval.host)} would allow it`
  return `denied ${uri}: --yes-for ${approval.sideEffect} would agree to it`
}

/** A class of side effects, or a URI. */
function agrees(pattern: string, { uri, sideEffect }: { uri: string; sideEffect: string }): boolean {
  return pattern === sideEffect || matches(pattern, uri)
}

/** `*` stands for anything. */
function matches(pattern: string, uri: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(uri)
}
