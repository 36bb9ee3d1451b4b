import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTask, createTree, openTree, recordTask, type TaskTree, updateTask } from '@matrix/task-tree'
import { type Benchmark, interleave } from '../figure.ts'

const size = 10_000
const batch = 300
const agent = { editedBy: 'agent' } as const

/** One change to a large tree against what waiting for the disk costs by itself. Rewriting the file now and then is included. */
export const benchmark: Benchmark = {
  name: 'tree of 10,000 tasks',
  async measure() {
    const folder = await mkdtemp(join(tmpdir(), 'matrix-bench-'))
    try {
      const tree = await grow(join(folder, 'tree'))
      const file = await open(join(folder, 'floor'), 'w')
      const line = Buffer.alloc(450, 'x')
      let position = 0
      const ids = tree.list().map((task) => task.id)
      const some = (index: number) => ids[(index * 7919) % ids.length] ?? ''

      const times = await interleave(9, {
        floor: () =>
          repeat(async () => {
            await file.write(line, 0, line.length, position)
            position += line.length
            await file.datasync()
          }),
        create: () => repeat((index) => createTask(tree, tree.root().id, { title: `Task ${index}` }, agent)),
        update: () => repeat((index) => updateTask(tree, some(index), { description: `Changed ${index}` }, agent)),
        record: () => repeat((index) => recordTask(tree, some(index), { add: { usd: 0.01 } })),
      })
      await file.close()
      await tree.close()
      const figure = (name: string, ours: number) => ({
        name: `${name} in a tree of 10,000 tasks`,
        unit: 'ms',
        ours: ours / batch,
        floor: times.floor / batch,
        against: 'write + fdatasync of one line',
        limit: 3,
      })
      return [figure('create', times.create), figure('update', times.update), figure('record', times.record)]
    } finally {
      await rm(folder, { recursive: true })
    }
  },
}

async function grow(folder: string): Promise<TaskTree> {
  const small = await createTree(folder, { title: 'Root', baseBranch: 'main' })
  await small.change((view) => {
    const root = view.root()
    const task = (index: number) => ({
      ...root,
      id: small.newId(),
      parentId: root.id,
      title: `Task ${index}`,
      description: 'What to do and why, in a sentence or two, as people write it.',
    })
    const changes = Array.from({ length: size }, (_, index) => ({ do: 'add' as const, task: task(index), at: index }))
    return { changes, result: undefined }
  })
  await small.close()
  return openTree(folder)
}

async function repeat(act: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < batch; index += 1) await act(index)
}
