import { loopTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import type { StoreDisk } from './simulation/mortal-disk.testing.ts'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const none = { query: {}, body: undefined }
const finish = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }

test.each(['no room at all', 'room to say why'] as const)(
  'wherever the process dies on a disk with %s, work goes on when there is more, and nobody has to do anything',
  async (left) => {
    for (let steps = 1; ; steps += 1) {
      const { office } = await officeThatFills({ left, hasRoomAfter: 3 })
      const begin = () => office.say('Do it', { requestId: 'r1' })
      const isDead = await office.dieWithin(steps, begin, steps % 2 === 0 ? 'kill' : 'power')
      if (isDead) await office.restart()
      // Whoever was told that there is no room says it again when there is.
      await begin().catch(() => office.settle().then(begin))
      await office.settle()

      expect(await office.task(), `after ${steps} steps`).toMatchObject({ status: 'passed', problem: null, needs: [] })
      const errors = (await office.events()).filter(({ type }) => type === 'error')
      if (!isDead) expect(errors).toHaveLength(left === 'room to say why' ? 1 : 0)
      if (!isDead) return expect(office.machine.modelCalls()).toBe(2)
    }
  },
)

test('while the disk is full, a person is told and no model is asked', async () => {
  const { office, fills } = await officeThatFills({ left: 'room to say why' })
  await office.say('Do it')
  await fills()

  const problem = { code: 'STORAGE_FULL' }
  expect(await office.task()).toMatchObject({ activity: 'blocked', problem, needs: ['failure'] })
  expect(office.machine.modelCalls()).toBe(1)
})

test('a task that a person stopped while the disk was full stays stopped when there is room', async () => {
  const { office, fills } = await officeThatFills()
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.say('Do it')
  await fills()
  office.machine.disk.setCapacity(Number.POSITIVE_INFINITY)
  await office.orchestrator().stopAgent({ params, ...none })
  await office.settle()
  await office.restart()
  await office.settle()

  expect(await office.task()).toMatchObject({ activity: 'stopped' })
  expect(office.machine.modelCalls()).toBe(1)
})

test('a task that a person stops in the moment in which it finds no room stays stopped too', async () => {
  const { office } = await officeThatFills({ left: 'room to say why', hasRoomAfter: 1 })
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.say('Do it')
  while (!(await office.task()).problem) await new Promise((resolve) => setImmediate(resolve))
  const { stopped } = await office.orchestrator().stopAgent({ params, ...none })
  await office.settle()

  expect(stopped).toEqual([office.rootId])
  expect(await office.task()).toMatchObject({ activity: 'stopped' })
  expect(office.machine.modelCalls()).toBe(1)
})

test('a disk that is full again each time is asked less and less often', async () => {
  const { office } = await officeThatFills({ hasRoomAfter: 1, times: 6 })
  const before = office.machine.now()
  await office.say('Do it')
  await office.settle()

  expect(await office.task()).toMatchObject({ status: 'passed' })
  expect(office.machine.now() - before).toBeGreaterThan(30_000 * (1 + 2 + 4 + 8 + 16 + 32))
})

type Fill = { left?: 'no room at all' | 'room to say why'; hasRoomAfter?: number; times?: number }

/** An office whose disk is full as soon as its model has answered for the first time, or so often, until it was asked for its room so often. */
async function officeThatFills({ left = 'no room at all', hasRoomAfter, times = 1 }: Fill = {}): Promise<{
  office: Office
  fills(): Promise<void>
}> {
  let answers = 0
  let asked = 0
  const shop: Script = () => {
    answers += 1
    if (answers > times) return finish
    const { disk } = office.machine
    const used = disk.names().reduce((sum, name) => sum + (disk.readNow(name)?.byteLength ?? 0), 0)
    disk.setCapacity(left === 'no room at all' ? 0 : used + 1500)
    return { ...finish, text: 'x'.repeat(5000) }
  }
  const disk = (each: StoreDisk): StoreDisk => ({
    ...each,
    freeBytes(path) {
      asked += 1
      if (hasRoomAfter && asked % hasRoomAfter === 0) office.machine.disk.setCapacity(Number.POSITIVE_INFINITY)
      return each.freeBytes(path)
    },
  })
  const office = await openOffice({ shop }, { planted: { disk } })
  return {
    office,
    async fills() {
      const moment = () => new Promise((resolve) => setImmediate(resolve))
      while ((await office.task()).activity !== 'blocked') await moment()
      // What is written in the same moment as a failure fails with it.
      await moment()
    },
  }
}
