import type { Orchestrator } from '@matrix/orchestrator'
import { approvalChoices } from '@matrix/protocol/display'
import type { Attention, Frame, Problem, ProjectView, TaskView } from '@matrix/protocol/http'

export type HeadlessRun = {
  project: ProjectView
  rootId: string
  /** What the root agent is told; nothing when it goes on where it was. */
  goal: string | undefined
  /** Which calls are agreed to in advance; every other one that needs a yes is denied. */
  isAgreed(approval: NonNullable<Attention['approval']>): boolean
  /** What a question is answered with; that nobody is there, when left out. */
  answer?(question: Attention): string
  onFrame(frame: Frame): void
  signal: AbortSignal
}

/** How a run ended. `problem` says why it could not go on, where nobody was there to help. */
export type Outcome = {
  result: 'passed' | 'failed' | 'budget' | 'stuck' | 'aborted'
  output: string
  problem: Problem | null
}

const noAnswer = 'Nobody is there who could answer. Decide as you think best, and say in the end what you assumed.'
const nudge =
  'Nobody is there who could answer, and nothing else will wake you. Go on with the work; when it is finished, or cannot be, call done.'
/** Between two steps an agent may look idle for a moment. */
const QUIET_MS = 1500
/** A blocked agent stays so, unless it is being resumed just now. */
const BLOCKED_MS = 300

/** Gives one goal to the root agent and stands in for the person: answers, agrees and refuses, until the agent is done. */
export async function runHeadless(orchestrator: Orchestrator, run: HeadlessRun): Promise<Outcome> {
  const { project, rootId, goal, signal } = run
  const params = { projectId: project.id, taskId: rootId }
  const tasks = new Map<string, TaskView>()
  let output = ''
  let nudges = 0
  let quiet: NodeJS.Timeout | undefined

  return new Promise<Outcome>((resolve, reject) => {
    const end = (outcome: Omit<Outcome, 'output'>) => {
      clearTimeout(quiet)
      unsubscribe()
      resolve({ ...outcome, output })
    }
    const unsubscribe = orchestrator.subscribe((frame) => {
      run.onFrame(frame)
      if (frame.kind === 'attention') handle(frame.attention)
      if (frame.kind === 'event' && frame.taskId === rootId) output = outputOf(frame) ?? output
      if (frame.kind === 'task_removed') tasks.delete(frame.taskId)
      if (frame.kind === 'task') {
        tasks.set(frame.task.id, frame.task)
        judge()
      }
    })

    const handle = (one: Attention) => {
      const answered = respond(orchestrator, one, run)
      // Somebody else may have been quicker, or the call is gone: then there is nothing left to answer.
      answered?.catch(() => undefined)
    }

    /** The root alone says how it ended; as long as anybody works, there is something to wait for. */
    const judge = () => {
      const root = tasks.get(rootId)
      if (!root) return
      if (root.activity === 'off' && root.status === 'passed') return end({ result: 'passed', problem: null })
      if (root.activity === 'off' && root.status === 'failed') return end({ result: 'failed', problem: root.problem })
      clearTimeout(quiet)
      if (!isAtRest([...tasks.values()])) return
      quiet = setTimeout(() => wake(root), root.problem ? BLOCKED_MS : QUIET_MS)
    }

    const wake = (root: TaskView) => {
      const problems = [root, ...tasks.values()].flatMap(({ problem }) => problem ?? [])
      const spent = problems.find(({ code }) => code === 'BUDGET_EXCEEDED')
      if (spent) return end({ result: 'budget', problem: spent })
      if (root.problem || nudges >= 2) return end({ result: 'stuck', problem: problems[0] ?? null })
      nudges += 1
      orchestrator.sendMessage({ params, query: {}, body: { text: nudge } }).catch(reject)
    }

    const abort = () => end({ result: 'aborted', problem: null })
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    begin(orchestrator, params, goal)
      .then((all) => {
        for (const task of all) if (!tasks.has(task.id)) tasks.set(task.id, task)
        if (goal === undefined) judge()
      })
      .catch((error) => {
        unsubscribe()
        reject(error)
      })
  })
}

async function begin(
  orchestrator: Orchestrator,
  params: { projectId: string; taskId: string },
  goal: string | undefined,
): Promise<TaskView[]> {
  if (goal !== undefined) await orchestrator.sendMessage({ params, query: {}, body: { text: goal } })
  // What a problem stopped tries again: the provider may answer by now, or the budget was raised.
  else await orchestrator.resumeAgent({ params, query: {}, body: undefined })
  return orchestrator.listTasks({ params: { projectId: params.projectId }, query: {}, body: undefined })
}

function isAtRest(tasks: readonly TaskView[]): boolean {
  return tasks.every(({ activity }) => activity !== 'working' && activity !== 'starting')
}

function outputOf({ event }: Extract<Frame, { kind: 'event' }>): string | undefined {
  if (event.type !== 'orchestration_completed' || !('output' in event)) return undefined
  return typeof event.output === 'string' ? event.output : undefined
}

function respond(
  orchestrator: Orchestrator,
  one: Attention,
  { isAgreed, answer = () => noAnswer }: HeadlessRun,
): Promise<unknown> | undefined {
  const { projectId } = one
  if (one.kind === 'question')
    return orchestrator.answerQuestion({
      params: { projectId, questionId: one.id },
      query: {},
      body: { answer: answer(one) },
    })
  if (one.kind !== 'approval' || !one.approval) return undefined
  const body = isAgreed(one.approval)
    ? { decision: 'allow' as const, scope: narrowest(one.approval), inputDigest: one.approval.inputDigest }
    : { decision: 'deny' as const, reason: denialOf(one.approval) }
  return orchestrator.answerApproval({ params: { projectId, approvalId: one.id }, query: {}, body })
}

/** A setup or a server is approved until it changes; a call only once. */
function narrowest(approval: NonNullable<Attention['approval']>): 'once' | 'task' | 'always' {
  return approvalChoices(approval)[0]?.scope ?? 'once'
}

function denialOf({ host }: NonNullable<Attention['approval']>): string {
  if (host === undefined) return 'Nobody is there who could agree.'
  return `This run has no user to ask. Start it with --allow-host ${host} to allow it.`
}
