import { createTask, createTree, openTree, openWorktrees } from '@matrix/task-tree'
import { scratchRepository } from '@matrix/task-tree/testing'

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

const scratch = await scratchRepository({ branch: 'main' })
const folder = `${scratch.home}/tree`
const tree = await createTree(folder, { title: 'Root', baseBranch: 'main' })
const { id, title } = await createTask(tree, tree.root().id, { title: 'Guest' }, { editedBy: 'user' })
check((await openTree(folder)).get(id).title === title, 'A task does not survive being saved.')

const worktrees = await openWorktrees({ repository: scratch.checkout, directory: scratch.worktrees })
const { branch } = await worktrees.create({ taskId: id, title, baseBranch: 'main' })
check(branch === `mxd/${id}/guest`, 'A worktree is on another branch than its task.')
await worktrees.remove({ taskId: id })
await scratch.remove()
