import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type NodeOrchestratorOptions, type Orchestrator, openNodeOrchestrator } from '@matrix/orchestrator'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { formatDuration, formatUsd, plural } from '@matrix/protocol/display'
import type { Frame, MergeOutcome, Problem, ProjectView, TaskDetail, TaskView } from '@matrix/protocol/http'
import { findCheckout } from '../checkout.ts'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { type Outcome, runHeadless } from '../headless-run.ts'
import { readInput } from '../input-file.ts'
import { interruptSignal } from '../interrupt.ts'
import { colorsFor, print, printError, printJsonLine, terminalWidth } from '../terminal.ts'
import { wrapText } from '../text-width.ts'
import { openTranscript } from '../transcript.ts'
import { stateOf } from '../tree-lines.ts'
import { readAmount } from './task.ts'

export type RunOptions = {
  folder?: string
  data?: string
  keep?: boolean
  budget?: string
  model?: string
  timeout?: string
  yesFor?: string[]
  merge?: boolean
  unsandboxed?: boolean
  verbose?: boolean
  json?: boolean
  /** The sample project instead of one of the user's, played by the mock provider while no key is configured. */
  demo?: boolean
}

/** One goal, in this process: the same agents as in the daemon, and an exit code that says how it went. */
export async function run(words: readonly string[], options: RunOptions): Promise<ExitCode> {
  const demo = options.demo ? await import('@matrix/demo') : undefined
  const goal = demo ? demo.goal : await readGoal(words, options)
  const budgetUsd = options.budget === undefined ? undefined : readAmount(options.budget)
  const timeoutMs = options.timeout === undefined ? undefined : readDuration(options.timeout)
  const repository = demo ? undefined : await findCheckout(options.folder ?? '.')
  const data = await openData(options)
  const checkout = repository ?? join(data.folder, 'demo', 'tally')
  const settings = orchestratorOptions(data.folder, options)
  const mayRemove = data.isOwn && !options.keep
  let orchestrator: Orchestrator | undefined
  // Until agents work, there is nothing that anybody could want, and a copy of the user's keys.
  let isDone = mayRemove
  try {
    orchestrator = await (demo
      ? demo.openDemo({ ...settings, pace: { thinkMs: 100, typeMs: 0 }, begins: false })
      : openNodeOrchestrator(settings))
    const obstacles = demo ? [] : await findObstacles(orchestrator, checkout, options)
    if (obstacles.length > 0) return refuse(obstacles, options)
    await orchestrator.resume()
    const project = await openProject(orchestrator, checkout)
    const root = await prepareRoot(orchestrator, project, { budgetUsd, model: options.model })
    isDone = false
    const result = await drive(orchestrator, { project, root, goal, timeoutMs, options })
    if (mayRemove && result.result === 'passed') {
      await removeWorktrees(orchestrator, project)
      isDone = true
    } else if (mayRemove && isUnused(result)) {
      await removeWorktrees(orchestrator, project)
      await removeBranch(checkout, result.task)
      isDone = true
    }
    const whole = { ...result, dataDirectory: isDone ? null : data.folder }
    if (options.json) printJsonLine({ kind: 'result', ...whole })
    else print(summarize(whole))
    process.exitCode = result.exitCode
    return result.exitCode
  } finally {
    await orchestrator?.close()
    // What did not end well can be looked at, and gone on with.
    if (isDone) await rm(data.folder, { recursive: true, force: true })
  }
}

type Drive = {
  project: ProjectView
  root: TaskView
  goal: string | undefined
  timeoutMs: number | undefined
  options: RunOptions
}

async function drive(orchestrator: Orchestrator, { project, root, goal, timeoutMs, options }: Drive) {
  const startedAt = Date.now()
  const progress = options.json ? { frame: printJsonLine, close: () => undefined } : openProgress(options, root)
  const timedOut = timeoutMs === undefined ? new AbortController().signal : AbortSignal.timeout(timeoutMs)
  const outcome = await runHeadless(orchestrator, {
    project,
    rootId: root.id,
    goal,
    // The first of the answers that the story offers.
    ...(options.demo && { answer: ({ options: offered }) => offered?.[0] ?? 'As you think best.' }),
    isAgreed: (approval) => (options.yesFor ?? []).some((pattern) => agrees(pattern, approval)),
    onFrame: progress.frame,
    signal: AbortSignal.any([interruptSignal(), timedOut]),
  })
  progress.close()
  const result: Ending = outcome.result === 'aborted' && timedOut.aborted ? 'timed out' : outcome.result
  const merged = options.merge && result === 'passed' ? await mergeRoot(orchestrator, project, root.id) : undefined
  const task = await getTask(orchestrator, project, root.id)
  const exitCode = codeOf(result, merged)
  return { ...outcome, result, exitCode, merged, task, seconds: (Date.now() - startedAt) / 1000 }
}

/** Everything that would stop the run later is said at once, before anything is made. */
async function findObstacles(orchestrator: Orchestrator, checkout: string, options: RunOptions): Promise<Problem[]> {
  const obstacles: MatrixError[] = []
  if (orchestrator.provider().kind === 'missing')
    obstacles.push(
      new MatrixError('CONFIG_INVALID', 'No key is set, so agents have no model to think with.', {
        hint: 'Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or keep one with matrix auth set anthropic.',
      }),
    )
  const { findSetupHook } = await import('@matrix/task-tree')
  const hook = await findSetupHook(checkout).catch((error: MatrixError) => void obstacles.push(error))
  const isAgreed = hook && (options.yesFor ?? []).some((pattern) => agrees(pattern, { uri: hook.path, sideEffect: '' }))
  // Where there is a data directory already, somebody may have agreed for good.
  if (hook && !isAgreed && options.data === undefined)
    obstacles.push(
      new MatrixError('AUTHORIZATION_DENIED', `Nobody has agreed to ${hook.path}, which runs outside of any box.`, {
        hint: 'Read it, and agree with --yes-for setup.',
      }),
    )
  return obstacles.map((error) => error.toJSON())
}

function refuse(obstacles: Problem[], { json }: RunOptions): ExitCode {
  if (json) printJsonLine({ kind: 'result', result: 'refused', problems: obstacles })
  const { red, dim } = colorsFor(process.stderr)
  for (const { message, hint } of obstacles)
    printError(`${red('error:')} ${printableLine(message)}\n${dim(`  ${printableLine(hint)}`)}`)
  return exitCode.findings
}

/** A run that ended by itself before the model said anything leaves nothing that anybody could want. */
function isUnused({ result, task }: { result: Ending; task: TaskDetail }): boolean {
  return result !== 'aborted' && result !== 'timed out' && task.children.length === 0 && task.usage.outputTokens === 0
}

/** Git itself refuses if there is something on the branch that is nowhere else. */
async function removeBranch(checkout: string, { branch }: TaskView): Promise<void> {
  if (branch) await promisify(execFile)('git', ['branch', '--delete', branch], { cwd: checkout }).catch(() => undefined)
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

type Data = { folder: string; isOwn: boolean }

/** A folder of its own, so that a run in CI leaves nothing behind and disturbs no daemon; the user's settings and agents hold there too. */
async function openData({ data }: RunOptions): Promise<Data> {
  const folder = data === undefined ? await mkdtemp(join(tmpdir(), 'matrix-run-')) : resolve(data)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // A run that goes on keeps what it began with.
  for (const name of ['config.json', 'agents'])
    await cp(join(dataFolder(), name), join(folder, name), { recursive: true, force: false }).catch((error) => {
      if (error.code !== 'ENOENT') throw error
    })
  return { folder: await realpath(folder), isOwn: data === undefined }
}

async function openProject(orchestrator: Orchestrator, checkout: string): Promise<ProjectView> {
  const known = (await orchestrator.listProjects({ params: {}, query: {}, body: undefined })).find(
    ({ path }) => path === checkout,
  )
  const project = known ?? (await orchestrator.registerProject({ params: {}, query: {}, body: { path: checkout } }))
  if (!project.problem) return project
  throw new MatrixError('PROJECT_UNUSABLE', project.problem.message, { hint: project.problem.hint })
}

type Wishes = { budgetUsd: number | undefined; model: string | undefined }

async function prepareRoot(
  orchestrator: Orchestrator,
  project: ProjectView,
  { budgetUsd, model }: Wishes,
): Promise<TaskView> {
  const { id: projectId, rootTaskId } = project
  if (rootTaskId === null) throw new MatrixError('TREE_MISSING', `${project.name} has no root task.`)
  if (model !== undefined)
    await orchestrator.setConfig({
      params: { layer: 'local', key: 'model' },
      query: { projectId },
      body: { value: model },
    })
  if (budgetUsd !== undefined)
    await orchestrator.updateTask({ params: { projectId, taskId: rootTaskId }, query: {}, body: { budgetUsd } })
  return getTask(orchestrator, project, rootTaskId)
}

function getTask(orchestrator: Orchestrator, { id: projectId }: ProjectView, taskId: string): Promise<TaskDetail> {
  return orchestrator.getTask({ params: { projectId, taskId }, query: {}, body: undefined })
}

type Merged = MergeOutcome | { outcome: 'refused'; problem: Problem }

/** What is in the way of a merge takes nothing from what the run has done. */
async function mergeRoot(orchestrator: Orchestrator, { id: projectId }: ProjectView, taskId: string): Promise<Merged> {
  const body = { how: 'merge' as const, updateCheckout: true }
  try {
    return await orchestrator.mergeTask({ params: { projectId, taskId }, query: {}, body })
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return { outcome: 'refused', problem: error.toJSON() }
  }
}

/** The branches stay; worktrees in a folder that is about to go would only confuse git. */
async function removeWorktrees(orchestrator: Orchestrator, { id: projectId }: ProjectView): Promise<void> {
  const worktrees = await orchestrator.listWorktrees({ params: { projectId }, query: {}, body: undefined })
  for (const { taskId } of worktrees)
    await orchestrator
      .removeWorktree({ params: { projectId, taskId }, query: {}, body: undefined })
      .catch((error) => printError(`warning: ${printableLine(error instanceof Error ? error.message : String(error))}`))
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

function askedFor(approval: { uri: string; sideEffect: string }, yesFor: readonly string[]): string {
  const isSetup = approval.uri.endsWith('/setup_worktree.sh')
  const uri = printableLine(approval.uri)
  if (yesFor.some((pattern) => agrees(pattern, approval))) return `allowed ${uri}`
  return `denied ${uri}: --yes-for ${isSetup ? 'setup' : approval.sideEffect} would agree to it`
}

type Ending = Outcome['result'] | 'timed out'

function codeOf(result: Ending, merged: Merged | undefined): ExitCode {
  if (merged && isLeft(merged)) return exitCode.findings
  const codes: Record<Ending, ExitCode> = {
    passed: exitCode.ok,
    failed: exitCode.findings,
    stuck: exitCode.findings,
    budget: exitCode.budget,
    aborted: exitCode.interrupted,
    'timed out': exitCode.timedOut,
  }
  return codes[result]
}

type Result = Omit<Outcome, 'result'> & {
  result: Ending
  task: TaskView
  seconds: number
  dataDirectory: string | null
  merged: Merged | undefined
}

const endings: Record<Ending, string> = {
  passed: 'Passed',
  failed: 'Failed',
  stuck: 'Stuck',
  budget: 'Budget used up',
  aborted: 'Interrupted',
  'timed out': 'Timed out',
}

function summarize({ result, output, problem, task, seconds, dataDirectory, merged }: Result): string {
  const { bold, green, red, dim } = colorsFor(process.stdout)
  const isGood = result === 'passed'
  const head = `${isGood ? green('✔') : red('✘')} ${bold(endings[result])}  ${dim(`${formatDuration(seconds * 1000)}, ${formatUsd(task.treeCostUsd)}, ${plural(task.children.length, 'sub task')}`)}`
  return [
    '',
    head,
    ...(output ? wrapText(printable(output), Math.min(100, terminalWidth())).map((text) => `  ${text}`) : []),
    ...(problem ? [red(`  ${printableLine(problem.message)}`), `  ${printableLine(problem.hint)}`] : []),
    ...(merged ? tellMerged(merged) : []),
    ...(isGood && (!merged || isLeft(merged)) ? tellBranch(task) : []),
    ...(isGood ? [] : tellKept(dataDirectory, task)),
  ].join('\n')
}

/** Whether the work is still to be merged. */
function isLeft({ outcome }: Merged): boolean {
  return outcome === 'conflict' || outcome === 'refused'
}

function tellMerged(merged: Merged): string[] {
  if (merged.outcome === 'merged') return ['Merged into the base branch.']
  if (merged.outcome !== 'refused') return [`Not merged: ${merged.outcome}.`]
  const { message, hint } = merged.problem
  return [`Not merged: ${printableLine(message)}`, `  ${printableLine(hint)}`]
}

function tellBranch({ branch }: TaskView): string[] {
  return branch ? [`The work is on ${printableLine(branch)}: git merge ${printableLine(branch)}`] : []
}

function tellKept(dataDirectory: string | null, { branch }: TaskView): string[] {
  if (dataDirectory === null) return ['Nothing was done yet, so nothing is kept.']
  return [
    `Everything is kept in ${dataDirectory}${branch ? `, and the work so far on ${printableLine(branch)}` : ''}.`,
    `Go on with: matrix run --data ${dataDirectory}`,
  ]
}

/** A class of side effects, `setup` for the script that prepares worktrees, or a URI. */
function agrees(pattern: string, { uri, sideEffect }: { uri: string; sideEffect: string }): boolean {
  if (uri.endsWith('/setup_worktree.sh')) return pattern === 'setup' || matches(pattern, uri)
  return pattern === sideEffect || matches(pattern, uri)
}

/** `*` stands for anything. */
function matches(pattern: string, uri: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(uri)
}

function readDuration(text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(text) ?? []
  const seconds = { s: 1, m: 60, h: 3600, '': 1 }[unit]
  if (amount !== undefined && seconds !== undefined && Number(amount) > 0) return Number(amount) * seconds * 1000
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is no length of time.`, {
    hint: 'Write 90s, 15m or 2h.',
  })
}
