import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { adoptDefinitions, openDefinitions } from './persistent-task.ts'
import { createTask, deleteTask, recordTask, updateTask } from './task-operations.ts'
import { createTree, type TaskTree } from './task-tree.ts'

const agent = { editedBy: 'agent' } as const
let checkout = ''
beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'mxd-definitions-'))
})
afterEach(() => rm(checkout, { recursive: true }))

test('a persistent task has its definition in .mxd/tasks, without anything about its progress', async () => {
  const tree = await started()
  const task = await createTask(tree, tree.root().id, { title: 'Audit', persistent: 'reset', budgetUsd: 1 }, agent)
  await recordTask(tree, task.id, { status: 'in_progress', add: { usd: 1 } })

  expect(JSON.parse(await readFile(fileOf(task.id), 'utf8'))).toEqual({
    version: 1,
    id: task.id,
    title: 'Audit',
    description: '',
    persistent: 'reset',
    budgetUsd: 1,
    createdAt: task.createdAt,
  })
})

test('the definition follows the task until it is deleted or no longer persistent', async () => {
  const tree = await started()
  const [a, b] = [await persistent(tree, 'a'), await persistent(tree, 'b')]
  await updateTask(tree, a.id, { title: 'a, renamed' }, agent)
  expect(await readFile(fileOf(a.id), 'utf8')).toContain('a, renamed')

  await updateTask(tree, a.id, { persistent: false }, agent)
  await deleteTask(tree, b.id, agent)
  expect(await readdir(join(checkout, '.mxd/tasks'))).toEqual([])
})

test('definitions that a pull added, changed or took away are adopted', async () => {
  const tree = await started()
  const [kept, gone] = [await persistent(tree, 'kept'), await persistent(tree, 'gone')]
  const definition = JSON.parse(await readFile(fileOf(kept.id), 'utf8'))
  const newId = '01KMAB1234ABCDEFGHJKMNPQRS'
  await writeFile(fileOf(kept.id), JSON.stringify({ ...definition, title: 'kept, changed' }))
  await writeFile(fileOf(newId), JSON.stringify({ ...definition, id: newId, title: 'added' }))
  await rm(fileOf(gone.id))
  const adopted = await adoptDefinitions(tree, openDefinitions(checkout))

  expect(adopted).toEqual({ added: [newId], changed: [kept.id], released: [gone.id], problems: [] })
  expect(tree.get(kept.id).title).toBe('kept, changed')
  expect(tree.get(newId)).toMatchObject({ title: 'added', status: 'pending', persistent: 'continue' })
  expect(tree.get(gone.id).persistent).toBe(false)
  expect(await adoptDefinitions(tree, openDefinitions(checkout))).toMatchObject({
    added: [],
    changed: [],
    released: [],
  })
})

test('a definition that cannot be used is reported, and releases or harms nothing', async () => {
  const tree = await started()
  const task = await persistent(tree, 'a')
  const other = '01KMAB1234ABCDEFGHJKMNPQRS'
  await writeFile(fileOf(task.id), '{"version":1,')
  await writeFile(join(checkout, '.mxd/tasks', 'evil.json'), await definitionText(other))
  await writeFile(fileOf(other), '{"version":1,"id":"__proto__"}')
  await symlink('/etc/passwd', fileOf('01KMAB1234ZZZZZZZZZZZZZZZZ'))
  const { problems, ...rest } = await adoptDefinitions(tree, openDefinitions(checkout))

  expect(rest).toEqual({ added: [], changed: [], released: [] })
  expect(problems).toHaveLength(4)
  expect(problems.map((each) => each.problem).join()).not.toContain('root:')
})

test('nothing is written through a link that came with the repository', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'mxd-elsewhere-'))
  await mkdir(join(checkout, '.mxd'))
  await symlink(elsewhere, join(checkout, '.mxd/tasks'))
  const tree = await started()

  await expect(persistent(tree, 'a')).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  expect(await readdir(elsewhere)).toEqual([])
  expect(tree.size).toBe(1)
  await rm(elsewhere, { recursive: true })
})

function fileOf(id: string): string {
  return join(checkout, '.mxd/tasks', `${id}.json`)
}

async function definitionText(id: string): Promise<string> {
  return JSON.stringify({
    version: 1,
    id,
    title: 'x',
    description: '',
    persistent: 'reset',
    createdAt: '2026-01-01T00:00:00Z',
  })
}

function persistent(tree: TaskTree, title: string) {
  return createTask(tree, tree.root().id, { title, persistent: 'continue' }, agent)
}

function started(): Promise<TaskTree> {
  return createTree(
    join(checkout, 'data'),
    { title: 'Root', baseBranch: 'main' },
    { definitions: openDefinitions(checkout) },
  )
}
