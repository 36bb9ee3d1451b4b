import { printable, printableLine } from '@matrix/protocol'
import { formatCost, formatDuration, plural } from '@matrix/protocol/display'
import type { MergeOutcome, Problem, TaskDetail, TaskView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from './exit-code.ts'
import type { Outcome } from './headless-run.ts'
import { colorsFor, print, printError, printJsonLine, terminalWidth } from './terminal.ts'
import { wrapText } from './text-width.ts'

/** How a run ends: as its agent did, from outside, or before it could begin. */
export type Ending = Outcome['result'] | 'timed out' | 'refused' | 'error'

export type Merged = MergeOutcome | { outcome: 'refused'; problem: Problem }

/** What every way out of `matrix run` tells. */
export type RunResult = {
  result: Ending
  output: string
  problem: Problem | null
  /** Only of a run that was refused: everything that is in its way. */
  problems?: Problem[]
  task: TaskDetail | TaskView | null
  exitCode: ExitCode
  seconds: number
  merged?: Merged | undefined
  /** Where the run can be resumed from; null where nothing is kept. */
  dataDirectory: string | null
}

const codes: Record<Ending, ExitCode> = {
  passed: exitCode.ok,
  failed: exitCode.findings,
  stuck: exitCode.findings,
  refused: exitCode.findings,
  error: exitCode.findings,
  budget: exitCode.budget,
  aborted: exitCode.interrupted,
  'timed out': exitCode.timedOut,
}

export function codeOf(result: Ending, merged: Merged | undefined): ExitCode {
  return merged && isLeft(merged) ? exitCode.findings : codes[result]
}

export function report(result: RunResult, { json }: { json?: boolean | undefined }): void {
  if (json) printJsonLine({ kind: 'result', ...result })
  else if (result.task) print(summarize({ ...result, task: result.task }))
  for (const { message, hint } of result.task ? [] : problemsOf(result)) tellProblem(message, hint)
  if (!json && result.task === null && result.dataDirectory) print(tellKept(result).join('\n'))
}

function problemsOf({ problems, problem }: RunResult): Problem[] {
  return problems ?? (problem ? [problem] : [])
}

function tellProblem(message: string, hint: string): void {
  const { red, dim } = colorsFor(process.stderr)
  printError(`${red('error:')} ${printableLine(message)}\n${dim(`  ${printableLine(hint)}`)}`)
}

const endings: Record<Ending, string> = {
  passed: 'Passed',
  failed: 'Failed',
  stuck: 'Stuck',
  refused: 'Refused',
  error: 'Broken off',
  budget: 'Budget used up',
  aborted: 'Interrupted',
  'timed out': 'Timed out',
}

function summarize(whole: RunResult & { task: TaskDetail | TaskView }): string {
  const { result, output, problem, task, seconds, merged } = whole
  const { bold, green, red, dim } = colorsFor(process.stdout)
  const isGood = result === 'passed'
  const head = `${isGood ? green('✔') : red('✘')} ${bold(endings[result])}  ${dim(`${formatDuration(seconds * 1000)}, ${formatCost(task.treeSpent)}, ${plural(task.children.length, 'sub task')}`)}`
  return [
    '',
    head,
    ...(output ? wrapText(printable(output), Math.min(100, terminalWidth())).map((text) => `  ${text}`) : []),
    ...(problem ? [red(`  ${printableLine(problem.message)}`), `  ${printableLine(problem.hint)}`] : []),
    ...(merged ? tellMerged(merged) : []),
    ...(isGood && (!merged || isLeft(merged)) ? tellBranch(task) : []),
    ...(isGood ? [] : tellKept(whole)),
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

function tellBranch({ branch }: Pick<TaskView, 'branch'>): string[] {
  if (!branch) return ['Nothing was committed, so no branch is kept.']
  return [`The work is on ${printableLine(branch)}: git merge ${printableLine(branch)}`]
}

function tellKept({ dataDirectory, task }: Pick<RunResult, 'dataDirectory' | 'task'>): string[] {
  if (dataDirectory === null) return ['Nothing was done yet, so nothing is kept.']
  const folder = printableLine(dataDirectory)
  const work = task?.branch ? `, and the work so far on ${printableLine(task.branch)}` : ''
  return [`Everything is kept in ${folder}${work}.`, `Resume with: matrix run --data ${folder}`]
}
