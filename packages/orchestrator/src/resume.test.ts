import { loopTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { openOffice } from './simulation/office.testing.ts'
import type { Planted } from './simulation/simulated-machine.testing.ts'

const finish = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }
const fails = { calls: [{ name: loopTools.done, input: { status: 'failed', summary: 'No.' } }] }

test('a task that was done when news came is not started for them by a restart, and still waits for review', async () => {
  const office = await openOffice({ shop: () => finish, Part: () => finish }, { planted: withChanges })
  await office.say('Go')
  await office.settle()
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  const calls = office.machine.modelCalls()
  const resumed = await office.restart()
  await office.settle()

  const heard = (await office.events()).flatMap((event) => (event.type === 'message' ? [event.message.source] : []))
  expect(heard).toEqual(['user', 'task_complete'])
  expect(resumed).toMatchObject({ ended: 2, continued: 0 })
  expect(office.machine.modelCalls()).toBe(calls)
  expect(await office.task()).toMatchObject({ status: 'passed', pendingMessages: 1, needs: ['review'] })
})

test('after a restart a person is told again why a task failed', async () => {
  const office = await openOffice({ shop: () => fails })
  await office.say('Go')
  await office.settle()
  await office.restart()

  expect(await office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })).toMatchObject([
    { kind: 'failure', text: 'No.' },
  ])
})

test('a task that failed and was told of something since is still put before a person after a restart', async () => {
  const office = await openOffice({ shop: () => fails, Part: () => finish })
  await office.say('Go')
  await office.settle()
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  await office.restart()
  await office.settle()

  expect(await office.task()).toMatchObject({ status: 'failed', pendingMessages: 1, needs: ['failure'] })
})

const withChanges = {
  worktrees: (worktrees) => ({
    ...worktrees,
    changes: async (request) => ({ ...(await worktrees.changes(request)), ahead: 1 }),
  }),
} satisfies Planted
