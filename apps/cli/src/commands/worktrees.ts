import { printableLine } from '@matrix/protocol'
import { formatBytes } from '@matrix/protocol/display'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openProject, type PlaceOptions } from '../place.ts'
import { confirm } from '../prompt.ts'
import { shortId } from '../short-id.ts'
import { formatTable } from '../table.ts'
import { colorsFor, print, printJson, terminalWidth } from '../terminal.ts'

type Options = PlaceOptions & { json?: boolean }

export async function listWorktrees(options: Options): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  const worktrees = await client.listWorktrees({ projectId: project.id })
  if (options.json) printJson(worktrees)
  else if (worktrees.length === 0) print('There are no worktrees.')
  else {
    const { dim, yellow } = colorsFor(process.stdout)
    const rows = worktrees.map((one) => [
      shortId(one.taskId),
      one.state,
      one.bytes === null ? '' : formatBytes(one.bytes),
      printableLine(one.branch ?? ''),
      one.stale ? yellow(printableLine(one.stale)) : dim(printableLine(one.path)),
    ])
    const columns = [
      { heading: 'task' },
      { heading: 'state' },
      { heading: 'size', align: 'right' as const },
      { heading: 'branch' },
      { heading: 'where, or why nobody needs it' },
    ]
    print(formatTable(columns, rows, terminalWidth()).join('\n'))
  }
  return exitCode.ok
}

/** Unmerged work is kept as a snapshot, committed or not. */
export async function removeWorktree(taskId: string, options: Options & { yes?: boolean }): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  if (
    !(await confirm(
      `Remove the worktree of ${printableLine(taskId)}? Work that was not merged is kept as a snapshot.`,
      options,
    ))
  )
    return exitCode.findings
  const { snapshot } = await client.removeWorktree({ projectId: project.id, taskId: taskId.toUpperCase() })
  if (options.json) printJson({ snapshot })
  else
    print(
      snapshot
        ? `Removed it. What was not merged is kept: matrix snapshots restore ${snapshot.name} <folder>`
        : 'Removed it; everything in it was merged.',
    )
  return exitCode.ok
}
