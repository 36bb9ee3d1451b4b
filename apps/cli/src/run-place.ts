import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Orchestrator } from '@matrix/orchestrator'
import { printableLine } from '@matrix/protocol'
import type { ProjectView, TaskView } from '@matrix/protocol/http'
import { dataFolder } from './data-folder.ts'
import { printError } from './terminal.ts'

/** The data directory of one run. */
export type RunPlace = {
  folder: string
  /** Whether it was made for this run, and goes with it. */
  isOwn: boolean
  remove(): Promise<void>
}

/** A folder of its own, so that a run in CI leaves nothing behind and disturbs no daemon; the user's settings and agents hold there too. */
export async function openRunPlace(given: string | undefined): Promise<RunPlace> {
  const made = given === undefined ? await mkdtemp(join(tmpdir(), 'matrix-run-')) : resolve(given)
  try {
    await mkdir(made, { recursive: true, mode: 0o700 })
    // A run that is resumed keeps what it began with.
    for (const name of ['config.json', 'agents'])
      await cp(join(dataFolder(), name), join(made, name), { recursive: true, force: false }).catch((error) => {
        if (error.code !== 'ENOENT') throw error
      })
    const folder = await realpath(made)
    return { folder, isOwn: given === undefined, remove: () => rm(folder, { recursive: true, force: true }) }
  } catch (error) {
    if (given === undefined) await rm(made, { recursive: true, force: true })
    throw error
  }
}

type Leftovers = { project: ProjectView; root: TaskView; isMerged: boolean }

/**
 * Removes the worktrees of a run, and every branch that holds nothing that is not elsewhere. Answers with the branches that are
 * gone, or with nothing where a worktree could not be removed: then the data directory has to stay as well.
 */
export async function removeLeftovers(
  orchestrator: Orchestrator,
  { project, root, isMerged }: Leftovers,
): Promise<Set<string> | undefined> {
  const params = { projectId: project.id }
  const ask = { params, query: {}, body: undefined }
  try {
    // A blocked agent still holds its worktree.
    await orchestrator.stopAgent({ ...ask, params: { ...params, taskId: root.id } })
    const tasks = await orchestrator.listTasks(ask)
    for (const { taskId } of await orchestrator.listWorktrees(ask))
      await orchestrator.removeWorktree({ ...ask, params: { ...params, taskId } })
    const removed = new Set<string>()
    for (const { id, branch } of tasks) {
      if (!branch || (isMerged && id === root.id)) continue
      const into = [project.baseBranch, id === root.id ? null : root.branch]
      if (await removeBranch(project.path, branch, into)) removed.add(branch)
    }
    return removed
  } catch (error) {
    printError(`warning: ${printableLine(error instanceof Error ? error.message : String(error))}`)
    return undefined
  }
}

/** Deletes a branch that one of the others contains. */
async function removeBranch(checkout: string, branch: string, others: (string | null)[]): Promise<boolean> {
  const { runGit } = await import('@matrix/task-tree')
  const git = (...args: string[]) => runGit(['-C', checkout, ...args], { codes: [0, 1, 128] })
  for (const other of others) {
    if (!other) continue
    const contained = await git('merge-base', '--is-ancestor', `refs/heads/${branch}`, `refs/heads/${other}`)
    if (contained.code === 0) return (await git('branch', '-D', '--', branch)).code === 0
  }
  return false
}
