import { resolve } from 'node:path'
import { printableLine } from '@matrix/protocol'
import { formatBytes, formatDuration } from '@matrix/protocol/display'
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
        ? `Removed it. What was not merged is kept: matrix worktrees restore ${snapshot.name} <folder>`
        : 'Removed it; everything in it was merged.',
    )
  return exitCode.ok
}

export async function listSnapshots(options: Options): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  const snapshots = await client.listSnapshots({ projectId: project.id })
  if (options.json) printJson(snapshots)
  else if (snapshots.length === 0) print('There are no snapshots.')
  else {
    const rows = snapshots.map((one) => [
      one.name,
      shortId(one.taskId),
      one.commit.slice(0, 12),
      `${formatDuration(Date.now() - Date.parse(one.takenAt))} ago`,
      printableLine(one.reason),
    ])
    const columns = [
      { heading: 'snapshot' },
      { heading: 'task' },
      { heading: 'commit' },
      { heading: 'taken' },
      { heading: 'because', flexible: true },
    ]
    print(formatTable(columns, rows, terminalWidth()).join('\n'))
  }
  return exitCode.ok
}

export async function restoreSnapshot(name: string, folder: string, options: Options): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  const body = { folder: resolve(folder) }
  const snapshot = await client.restoreSnapshot({ projectId: project.id, name, body })
  if (options.json) printJson(snapshot)
  else print(`Its files are in ${printableLine(body.folder)}.`)
  return exitCode.ok
}
