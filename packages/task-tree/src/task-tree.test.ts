import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTask, recordTask, updateTask } from './task-operations.ts'
import { createTree, openTree, rebuildTree, type TaskTree, type TreeOptions } from './task-tree.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mxd tree é-'))
})
afterEach(() => rm(directory, { recursive: true }))

test('what was changed is there when the tree is opened again', async () => {
  const tree = await started()
  const task = await createTask(tree, tree.root().id, { title: 'Parse dates', budgetUsd: 2 }, { editedBy: 'agent' })
  await recordTask(tree, task.id, { status: 'in_progress', branch: 'mxd/x/y', add: { usd: 0.5 } })

  const again = await openTree(directory)
  expect(again.list()).toEqual(tree.list())
  expect(again.get(task.id)).toMatchObject({ status: 'in_progress', branch: 'mxd/x/y', costUsd: 0.5, budgetUsd: 2 })
})

test('the root is on disk before its tree is handed out', async () => {
  const tree = await started()

  expect((await openTree(directory)).root()).toEqual(tree.root())
  expect(tree.root()).toMatchObject({ baseBranch: 'trunk', parentId: null })
})

test('a tree is never created over another', async () => {
  await started()
  const before = await readFile(join(directory, 'tree.json'))

  await expect(started()).rejects.toMatchObject({ code: 'TREE_DAMAGED' })
  expect(await readFile(join(directory, 'tree.json'))).toEqual(before)
})

test('what lives only while an agent runs is never saved', async () => {
  const tree = await createTree<{ secret: string }>(directory, root)
  tree.attachSession(tree.root().id, { secret: 'canary' })
  await createTask(tree, tree.root().id, { title: 'One', ...{ session: 'canary' } }, { editedBy: 'agent' })

  expect(tree.session(tree.root().id)).toEqual({ secret: 'canary' })
  expect(await readFile(join(directory, 'tree.json'), 'utf8')).not.toContain('canary')
  expect((await openTree(directory)).session(tree.root().id)).toBeUndefined()
})

test('a missing, a truncated and a damaged file are told apart, and each is named', async () => {
  const file = join(directory, 'tree.json')
  await expect(openTree(directory)).rejects.toMatchObject({
    code: 'TREE_MISSING',
    message: expect.stringContaining(file),
  })

  await started()
  const whole = await readFile(file, 'utf8')
  await truncate(file, whole.length - 10)
  await expect(openTree(directory)).rejects.toMatchObject({
    code: 'TREE_TRUNCATED',
    message: expect.stringContaining(file),
  })
  await truncate(file, 0)
  await expect(openTree(directory)).rejects.toMatchObject({
    code: 'TREE_TRUNCATED',
    message: expect.stringContaining(file),
  })

  for (const altered of [whole.replace('Ship', 'Skip'), `${whole}x`, 'null', '{}\n', '[1]', whole.replace('{', '')]) {
    await writeFile(file, altered)
    await expect(openTree(directory), altered).rejects.toMatchObject({
      code: 'TREE_DAMAGED',
      message: expect.stringContaining(file),
    })
  }
})

test('a large tree is not rewritten for each change: its changes go to a journal until that has grown', async () => {
  const tree = await started({ journalAboveBytes: 2000, compactAboveBytes: 3000 })
  for (let index = 0; index < 40; index++) {
    await createTask(tree, tree.root().id, { title: `Task ${index}` }, { editedBy: 'user' })
    expect((await openTree(directory)).list()).toEqual(tree.list())
  }

  await tree.close()
  expect((await readdir(directory)).toSorted()).toEqual(['tree.journal.jsonl', 'tree.json'])
  expect((await openTree(directory)).notices()).toEqual(tree.notices())
})

test('a line torn by a crash is dropped, and the next change starts clean', async () => {
  const tree = await journaled()
  const saved = tree.list()
  await appendFile(join(directory, 'tree.journal.jsonl'), '{"seq":99,"chan')

  const again = await openTree(directory, { journalAboveBytes: 1 })
  expect(again.list()).toEqual(saved)
  await updateTask(again, again.root().id, { title: 'After the crash' }, { editedBy: 'agent' })
  await again.close()
  expect((await openTree(directory)).list()).toEqual(again.list())
})

test('blocks that were allocated but never written count as torn', async () => {
  const tree = await journaled()
  await appendFile(join(directory, 'tree.journal.jsonl'), `{"seq":${'\0'.repeat(50)}\n`)

  expect((await openTree(directory)).list()).toEqual(tree.list())
})

test('any other damage in the journal stops with its line', async () => {
  await journaled()
  const file = join(directory, 'tree.journal.jsonl')
  const lines = (await readFile(file, 'utf8')).split('\n')
  const damages = {
    'a flipped bit in the last line': lines.with(-2, lines.at(-2)?.replace('Task', 'Tash') ?? ''),
    'a missing line': lines.toSpliced(1, 1),
    'two lines in the wrong order': [lines[1], lines[0], ...lines.slice(2)],
    'a foreign line': lines.toSpliced(1, 0, '{"hello":1}'),
    'a first line gone': lines.slice(1),
  }

  for (const [what, altered] of Object.entries(damages)) {
    await writeFile(file, altered.join('\n'))
    await expect(openTree(directory), what).rejects.toMatchObject({
      code: 'TREE_DAMAGED',
      message: expect.stringMatching(/tree\.journal\.jsonl:\d+ is damaged/),
    })
  }
})

test('a journal whose tree is gone is damage, not an empty tree', async () => {
  await journaled()
  await rm(join(directory, 'tree.json'))

  await expect(openTree(directory)).rejects.toMatchObject({ code: 'TREE_DAMAGED' })
})

test('a tree of a later version is refused', async () => {
  await started()
  const file = join(directory, 'tree.json')
  await writeFile(file, (await readFile(file, 'utf8')).replace('"version":1', '"version":2'))

  await expect(openTree(directory)).rejects.toMatchObject({
    code: 'TREE_DAMAGED',
    message: expect.stringContaining('version'),
  })
})

test('a lost tree is rebuilt from its tasks, and the damaged files stay beside it', async () => {
  const tree = await journaled()
  const tasks = tree.list()
  await truncate(join(directory, 'tree.json'), 100)
  const lost = tasks[2]
  const known = tasks.filter((task) => task !== lost).map((task) => ({ ...task, children: [] }))
  const orphan = { ...tasks[3], parentId: lost?.id ?? '' } as (typeof tasks)[number]

  const rebuilt = await rebuildTree(directory, [...known.filter((task) => task.id !== orphan.id), orphan])
  expect(new Set(rebuilt.list().map((task) => task.id))).toEqual(new Set(known.map((task) => task.id)))
  expect(rebuilt.get(orphan.id).parentId).toBe(rebuilt.root().id)
  expect((await readdir(directory)).filter((name) => /^tree\.(json|journal\.jsonl)\.\d/.test(name))).toHaveLength(2)
  expect((await openTree(directory)).list()).toEqual(rebuilt.list())
})

test('mutations at the same moment happen one after the other', async () => {
  const tree = await started()
  const titles = Array.from({ length: 30 }, (_, index) => `Task ${index}`)
  await Promise.all(titles.map((title) => createTask(tree, tree.root().id, { title }, { editedBy: 'agent' })))

  expect((await openTree(directory)).children(tree.root().id).map((task) => task.title)).toEqual(titles)
})

test('a mutation that is refused changes nothing and stops nobody', async () => {
  const tree = await started()
  const before = await readFile(join(directory, 'tree.json'))
  await expect(createTask(tree, tree.root().id, { title: ' ' }, { editedBy: 'user' })).rejects.toMatchObject({
    code: 'TASK_INVALID',
  })

  expect(await readFile(join(directory, 'tree.json'))).toEqual(before)
  await createTask(tree, tree.root().id, { title: 'Fine' }, { editedBy: 'user' })
})

const root = { title: 'Ship it', baseBranch: 'trunk' }

function started(options: TreeOptions = {}): Promise<TaskTree> {
  return createTree(directory, root, options)
}

/** A tree whose last changes are in the journal only. */
async function journaled(): Promise<TaskTree> {
  const tree = await started({ journalAboveBytes: 1 })
  for (let index = 0; index < 6; index++)
    await createTask(tree, tree.root().id, { title: `Task ${index}` }, { editedBy: 'agent' })
  await tree.close()
  return tree
}
