import { TaskStatus } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { simulatedDisk } from './simulated-disk.ts'
import {
  acknowledgeNotice,
  closeTask,
  createTask,
  deleteTask,
  recordTask,
  reorderTasks,
  resetTask,
  updateTask,
} from './task-operations.ts'
import { createTree, openTree, type TaskTree } from './task-tree.ts'

const agent = { editedBy: 'agent' } as const
const user = { editedBy: 'user' } as const

test('a task is created last among its siblings, or where it is wanted', async () => {
  const tree = await started()
  await make(tree, 'b')
  await make(tree, 'c')
  await createTask(tree, tree.root().id, { title: ' a ', at: 0 }, agent)

  expect(tree.children(tree.root().id).map((task) => task.title)).toEqual(['a', 'b', 'c'])
})

test('every operation notes who asked for it and when', async () => {
  const tree = await started()
  const task = await make(tree, 'a')
  expect(task).toMatchObject({ editedBy: 'agent' })

  const changed = await updateTask(tree, task.id, { title: 'b', budgetUsd: 3, color: 'red' }, user)
  expect(changed).toMatchObject({ editedBy: 'user', title: 'b', budgetUsd: 3, color: 'red' })
  expect(changed.updatedAt > task.updatedAt).toBe(true)
  expect(await updateTask(tree, task.id, { budgetUsd: null, color: null }, agent)).not.toHaveProperty('budgetUsd')
  expect(tree.get(task.id)).not.toHaveProperty('color')
})

test('a change by a person is announced to every task above, nearest first, and one by an agent to nobody', async () => {
  const tree = await started()
  const a = await make(tree, 'a')
  const folder = await createTask(tree, a.id, { title: 'group', folder: true }, agent)
  const b = await createTask(tree, folder.id, { title: 'b' }, agent)
  expect(tree.notices()).toEqual([])

  await updateTask(tree, b.id, { description: 'more' }, user)
  expect(tree.notices()).toEqual([
    {
      id: expect.any(String),
      changedTaskId: b.id,
      summary: 'Task "b" was changed by the user.',
      ancestors: [a.id, tree.root().id],
    },
  ])

  await createTask(tree, a.id, { title: 'c' }, user)
  await reorderTasks(tree, a.id, tree.get(a.id).children.toReversed(), user)
  await resetTask(tree, b.id, user)
  await closeTask(tree, b.id, user)
  await deleteTask(tree, b.id, user)
  expect(tree.notices()).toHaveLength(6)
})

test('a notice is offered until it is acknowledged, also by the next process', async () => {
  const disk = simulatedDisk(1)
  const tree = await started(disk)
  await createTask(tree, tree.root().id, { title: 'a' }, user)
  const [notice] = tree.notices()

  const second = disk.restart('power')
  const again = await openTree('/p', { disk: second })
  expect(again.notices()).toEqual([notice])
  await acknowledgeNotice(again, notice?.id ?? '')
  await acknowledgeNotice(again, notice?.id ?? '')
  expect((await openTree('/p', { disk: second.restart('power') })).notices()).toEqual([])
})

test('only the moves of the status table are possible', async () => {
  const tree = await started()
  const task = await make(tree, 'a')
  await updateTask(tree, task.id, { status: 'in_progress' }, agent)
  for (const status of TaskStatus.options.filter((status) => ['draft', 'closed'].includes(status)))
    await expect(updateTask(tree, task.id, { status }, user), status).rejects.toMatchObject({ code: 'TASK_STATUS' })

  expect((await updateTask(tree, task.id, { status: 'passed' }, agent)).status).toBe('passed')
})

test('a running task is not closed, deleted or reset, and neither is one with a running task below', async () => {
  const tree = await started()
  const above = await make(tree, 'above')
  const below = await createTask(tree, above.id, { title: 'below' }, agent)
  await recordTask(tree, below.id, { status: 'in_progress' })
  tree.attachSession(below.id, {})
  for (const operation of [closeTask, deleteTask, resetTask])
    for (const id of [above.id, below.id])
      await expect(operation(tree, id, user)).rejects.toMatchObject({
        code: 'TASK_STATUS',
        message: expect.stringContaining('running'),
      })
  await expect(updateTask(tree, below.id, { status: 'failed' }, user)).rejects.toMatchObject({ code: 'TASK_STATUS' })
  expect((await updateTask(tree, below.id, { title: 'still below' }, user)).status).toBe('in_progress')

  await recordTask(tree, below.id, { status: 'passed' })
  await expect(closeTask(tree, above.id, user)).rejects.toMatchObject({ code: 'TASK_STATUS' })
  tree.detachSession(below.id)
  expect((await closeTask(tree, above.id, user)).task.status).toBe('closed')
})

test('a task in progress whose agent does not run can be closed, deleted and reset, and what is below it waits to be started', async () => {
  for (const operation of [closeTask, resetTask]) {
    const tree = await started()
    const above = await make(tree, 'above')
    const below = await createTask(tree, above.id, { title: 'below' }, agent)
    for (const { id } of [above, below]) await recordTask(tree, id, { status: 'in_progress' })
    await operation(tree, above.id, user)

    expect(tree.get(above.id).status).toBe(operation === closeTask ? 'closed' : 'pending')
    expect(tree.get(below.id).status).toBe('pending')
    await recordTask(tree, below.id, { status: 'in_progress' })
    await deleteTask(tree, above.id, user)
    expect(tree.size).toBe(1)
  }
})

test('what a deleted task and all below it have cost is kept by the task above, also when that is deleted in turn', async () => {
  const disk = simulatedDisk(1)
  const tree = await started(disk)
  const above = await make(tree, 'above')
  for (const [title, addCostUsd] of [
    ['one', 0.25],
    ['two', 0.5],
  ] as const) {
    const task = await createTask(tree, above.id, { title }, agent)
    const below = await createTask(tree, task.id, { title: 'below' }, agent)
    for (const { id } of [task, below]) await recordTask(tree, id, { add: { usd: addCostUsd } })
    await deleteTask(tree, task.id, agent)
  }
  expect(tree.get(above.id)).toMatchObject({ costUsd: 0, removedCostUsd: 1.5 })

  await recordTask(tree, above.id, { add: { usd: 2 } })
  await deleteTask(tree, above.id, user)
  const again = await openTree('/p', { disk: disk.restart('power') })
  expect(again.root()).toMatchObject({ costUsd: 0, removedCostUsd: 3.5 })
})

test('closing a persistent task starts its next cycle: reset discards the conversation, continue keeps it', async () => {
  const tree = await started()
  const audit = await createTask(tree, tree.root().id, { title: 'Audit', persistent: 'reset' }, agent)
  const watch = await createTask(tree, tree.root().id, { title: 'Watch', persistent: 'continue' }, agent)
  const once = await make(tree, 'Once')

  expect(await closeTask(tree, audit.id, agent)).toMatchObject({ session: 'discard', task: { status: 'pending' } })
  expect(await closeTask(tree, watch.id, agent)).toMatchObject({ session: 'keep', task: { status: 'pending' } })
  expect(await closeTask(tree, once.id, agent)).toMatchObject({ session: 'keep', task: { status: 'closed' } })
})

test('only a task directly under the root can be persistent', async () => {
  const tree = await started()
  const a = await make(tree, 'a')
  const folder = await createTask(tree, tree.root().id, { title: 'Checks', folder: true }, agent)

  await expect(createTask(tree, a.id, { title: 'x', persistent: 'reset' }, agent)).rejects.toMatchObject({
    code: 'TASK_INVALID',
  })
  expect(await createTask(tree, folder.id, { title: 'x', persistent: 'reset' }, agent)).toMatchObject({
    persistent: 'reset',
  })
})

test('deleting answers with everything that went, so that it can be tidied up', async () => {
  const tree = await started()
  const a = await make(tree, 'a')
  const b = await createTask(tree, a.id, { title: 'b' }, agent)

  expect((await deleteTask(tree, a.id, agent)).map((task) => task.id)).toEqual([a.id, b.id])
  expect(tree.list()).toEqual([tree.root()])
  expect(() => tree.get(b.id)).toThrowError(expect.objectContaining({ code: 'TASK_UNKNOWN' }))
})

test('resetting forgets branch and worktree but not what was spent', async () => {
  const tree = await started()
  const a = await make(tree, 'a')
  await recordTask(tree, a.id, { status: 'in_progress', branch: 'mxd/a/a', worktreePath: '/w/a', add: { usd: 1.5 } })
  await recordTask(tree, a.id, { status: 'failed' })
  const { task, before } = await resetTask(tree, a.id, user)

  expect(task).toMatchObject({ status: 'pending', branch: null, worktreePath: null, costUsd: 1.5 })
  expect(before).toMatchObject({ status: 'failed', branch: 'mxd/a/a', worktreePath: '/w/a' })
})

test('an order must name every child exactly once', async () => {
  const tree = await started()
  const [a, b] = [await make(tree, 'a'), await make(tree, 'b')]
  const inside = await createTask(tree, a.id, { title: 'inside' }, agent)
  for (const order of [[a.id], [a.id, b.id, b.id], [a.id, b.id, inside.id], []])
    await expect(reorderTasks(tree, tree.root().id, order, user)).rejects.toMatchObject({ code: 'TASK_ORDER' })

  await reorderTasks(tree, tree.root().id, [b.id, a.id], user)
  expect(tree.children(tree.root().id)).toEqual([tree.get(b.id), tree.get(a.id)])
})

test('a tree grows only as deep as allowed, and folders do not count', async () => {
  const tree = await started()
  const limit = { ...agent, maxDepth: 2 }
  const one = await createTask(tree, tree.root().id, { title: 'one' }, limit)
  const folder = await createTask(tree, one.id, { title: 'folder', folder: true }, limit)
  const two = await createTask(tree, folder.id, { title: 'two' }, limit)

  await expect(createTask(tree, two.id, { title: 'three' }, limit)).rejects.toMatchObject({ code: 'TASK_DEPTH' })
  const other = await createTask(tree, tree.root().id, { title: 'other' }, limit)
  await expect(updateTask(tree, one.id, { parentId: other.id }, limit)).rejects.toMatchObject({ code: 'TASK_DEPTH' })
  await expect(updateTask(tree, one.id, { parentId: two.id }, limit)).rejects.toMatchObject({ code: 'TASK_INVALID' })
  expect((await updateTask(tree, two.id, { parentId: other.id }, limit)).parentId).toBe(other.id)
  expect(tree.get(folder.id).children).toEqual([])
})

test('a folder groups and never runs', async () => {
  const tree = await started()
  const folder = await createTask(tree, tree.root().id, { title: 'Group', folder: true }, user)

  await expect(updateTask(tree, folder.id, { status: 'in_progress' }, user)).rejects.toMatchObject({
    code: 'TASK_STATUS',
  })
  await expect(resetTask(tree, folder.id, user)).rejects.toMatchObject({ code: 'TASK_STATUS' })
})

test('the root is never closed, deleted or moved', async () => {
  const tree = await started()
  const task = await make(tree, 'a')
  for (const operation of [closeTask, deleteTask])
    await expect(operation(tree, tree.root().id, user)).rejects.toMatchObject({ code: 'TASK_STATUS' })
  await expect(updateTask(tree, tree.root().id, { parentId: task.id }, user)).rejects.toMatchObject({
    code: 'TASK_STATUS',
  })
})

test('cost only ever grows', async () => {
  const tree = await started()
  for (const addCostUsd of [-1, Number.NaN, Number.POSITIVE_INFINITY])
    await expect(recordTask(tree, tree.root().id, { add: { usd: addCostUsd } })).rejects.toMatchObject({
      code: 'TASK_INVALID',
    })
})

test('a title with terminal escapes reaches no notice or error as such', async () => {
  const tree = await started()
  const task = await createTask(tree, tree.root().id, { title: '\u001b[31mred' }, user)

  expect(tree.notices()[0]?.summary).not.toContain('\u001b')
  tree.attachSession(task.id, {})
  const error = await closeTask(tree, task.id, user).catch((error: Error) => error)
  expect((error as Error).message).not.toContain('\u001b')
})

function make(tree: TaskTree, title: string) {
  return createTask(tree, tree.root().id, { title }, agent)
}

function started(disk = simulatedDisk(1)): Promise<TaskTree> {
  let seconds = 0
  const now = () => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds++))
  return createTree('/p', { title: 'Root', baseBranch: 'main' }, { disk, now })
}
