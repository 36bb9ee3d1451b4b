import { MatrixError, printableLine } from '@matrix/protocol'
import type { FlaggedFile, TaskView } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openTask, type PlaceOptions } from '../place.ts'
import { ask, confirm, isInteractive } from '../prompt.ts'
import { shortId } from '../short-id.ts'
import { colorsFor, print, printJson } from '../terminal.ts'
import { summarize } from './changes.ts'

type MergeOptions = PlaceOptions & {
  squash?: boolean
  updateCheckout?: boolean
  message?: string
  yes?: boolean
  acceptFlagged?: boolean
  json?: boolean
}

/** Merges exactly what was shown: if the branch moves on in between, nothing happens. */
export async function merge(name: string, options: MergeOptions): Promise<ExitCode> {
  const { client, project, task, tasks } = await openTask(name, options)
  const target = { projectId: project.id, taskId: task.id }
  const changes = await client.getChanges({ ...target, hunks: 'false' })
  if (!options.json) print([summarize(changes), ...stillWorking(task, tasks)].join('\n'))
  const checkout = options.updateCheckout ? ' and bring the files of your checkout along' : ''
  const isEmpty = changes.ahead === 0
  if (!isEmpty && !(await confirm(`Merge into ${printableLine(changes.targetBranch)}${checkout}?`, options)))
    return exitCode.findings
  if (!(await acceptFlagged(changes.flagged, options))) return exitCode.findings

  const outcome = await client.mergeTask({
    ...target,
    body: {
      how: options.squash ? 'squash' : 'merge',
      expectedHead: changes.head,
      updateCheckout: options.updateCheckout ?? false,
      acceptFlagged: changes.flagged.map(({ path }) => path),
      ...(options.message === undefined ? {} : { message: options.message }),
    },
  })
  if (options.json) printJson(outcome)
  else {
    const { green, red } = colorsFor(process.stdout)
    if (outcome.outcome === 'merged') print(`${green('✔')} Merged as ${outcome.commit.slice(0, 12)}.`)
    else if (outcome.outcome === 'nothing to merge') print('There is nothing to merge.')
    else
      print(
        `${red('✘')} Not merged: conflicts in ${outcome.files.map(printableLine).join(', ')}.\n  Have the agent settle them: matrix send ${shortId(task.id)} "Merge ${printableLine(changes.targetBranch)} into your branch and settle the conflicts."`,
      )
  }
  return outcome.outcome === 'conflict' ? exitCode.findings : exitCode.ok
}

/** Files that run by themselves need a yes of their own: --yes is for the merge. */
async function acceptFlagged(flagged: readonly FlaggedFile[], options: MergeOptions): Promise<boolean> {
  if (flagged.length === 0 || options.acceptFlagged) return true
  const paths = flagged.map(({ path }) => printableLine(path)).join(', ')
  if (!isInteractive())
    throw new MatrixError('MERGE_FLAGGED', `Not merged: these files run by themselves: ${paths}`, {
      hint: 'Look at them with matrix diff, then add --accept-flagged.',
    })
  return ['y', 'yes'].includes(await ask(`Accept these files, which run by themselves: ${paths}? [y/N] `))
}

/** More is to come: who merges now should know that it is a part. */
function stillWorking(task: TaskView, tasks: readonly TaskView[]): string[] {
  const { yellow } = colorsFor(process.stdout)
  const isBusy = ({ activity }: TaskView) => activity === 'working' || activity === 'starting'
  const isBelow = (one: TaskView): boolean =>
    one.id === task.id || tasks.some((above) => above.id === one.parentId && isBelow(above))
  const busy = tasks.filter((one) => isBusy(one) && isBelow(one))
  return busy.length > 0 ? [yellow(`  still at work: ${busy.map(({ title }) => printableLine(title)).join(', ')}`)] : []
}
