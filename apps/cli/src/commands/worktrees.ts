import { printableLine } from '@matrix/protocol'
import { formatBytes } from '@matrix/protocol/display'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { findTask, openProject, type Place, type PlaceOptions } from '../place.ts'
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
    ])
    const columns = [
      { heading: 'task' },
      { heading: 'state' },
      { heading: 'size', align: 'right' as const },
      { heading: 'branch' },
    ]
    const [head = '', ...lines] = formatTable(columns, rows, terminalWidth())
    const notes = worktrees.map(({ path, stale }) =>
      [dim(`  ${printableLine(path)}`), ...(stale ? [yellow(`  ${printableLine(stale)}`)] : [])].join('\n'),
    )
    print([head, ...lines.map((line, index) => `${line}\n${notes[index]}`)].join('\n'))
  }
  return exitCode.ok
}

/** Unmerged work is kept as a snapshot, committed or not. */
export async function removeWorktree(name: string, options: Options & { yes?: boolean }): Promise<ExitCode> {
  const place = await openProject(options)
  const { client, project } = place
  const taskId = await findWorktree(place, name)
  const isMeant = await confirm(
    `Remove the worktree of ${printableLine(name)}? Work that was not merged is kept as a snapshot.`,
    options,
  )
  if (!isMeant) return exitCode.findings
  const { snapshot } = await client.removeWorktree({ projectId: project.id, taskId })
  if (options.json) printJson({ snapshot })
  else
    print(
      snapshot
        ? `Removed it. What was not merged is kept: matrix snapshots restore ${snapshot.name} <folder>`
        : 'Removed it; everything in it was merged.',
    )
  return exitCode.ok
}

/** By its task, like everything else; the task of a worktree that nobody needs may be gone, and only its id is left. */
async function findWorktree({ client, project: { id: projectId } }: Place, name: string): Promise<string> {
  const worktrees = await client.listWorktrees({ projectId })
  const [only, ...others] = worktrees.filter(({ taskId }) => taskId.startsWith(name.toUpperCase()))
  return only && others.length === 0 ? only.taskId : findTask(await client.listTasks({ projectId }), name).id
}
