import { loopTools, type TaskStatus } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
const asks = { calls: [{ name: loopTools.clarify, input: { question: 'Which one?' } }] }
const done = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }
const hang = { calls: [{ name: 'mcp__mxd__bash', input: { command: 'hang' } }] }

test('the status of a task is not changed under an agent that is at work, which comes to its end as if nothing was', async () => {
  const office = await openOffice({
    shop: () => wait,
    Part: ({ calls }) =>
      calls.length === 0 ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'ask' } }] } : done,
  })
  const taskId = await begin(office)
  for (const status of ['pending', 'passed', 'failed', 'closed'] as const)
    await expect(set(office, taskId, { status, title: 'Whole' }), status).rejects.toMatchObject({
      code: 'AGENT_BUSY',
      hint: expect.stringContaining(`matrix stop ${taskId}`),
    })
  expect((await office.task(taskId)).title).toBe('Part')
  expect(await set(office, taskId, { title: 'Part of it' })).toMatchObject({
    title: 'Part of it',
    status: 'in_progress',
  })
  office.machine.expire()
  await office.settle()

  expect(await office.task(taskId)).toMatchObject({ status: 'passed', activity: 'off', problem: null })
})

const rests: Record<string, Script> = {
  'only waits': () => wait,
  'waits for an answer': () => asks,
  'cannot go on': () => {
    throw Object.assign(new Error('401 no such key'), { status: 401 })
  },
}
const statuses: TaskStatus[] = ['pending', 'passed', 'failed']
const cases = Object.entries(rests).flatMap(([how, part]) => statuses.map((status) => [how, status, part] as const))

test.each(cases)('a task whose agent %s can be set to %s, and a message lets it go on', async (_, status, part) => {
  let answer = part
  const office = await openOffice({ shop: () => wait, Part: (said) => answer(said) })
  const taskId = await begin(office)
  await set(office, taskId, { status })
  for (const life of ['first', 'second']) {
    await office.settle()
    expect(await office.task(taskId), `in its ${life} life`).toMatchObject({ status, activity: 'off', needs: [] })
    await office.restart()
  }

  answer = () => done
  await office.say('Go on', { taskId })
  await office.settle()
  expect(await office.task(taskId)).toMatchObject({ status: 'passed', activity: 'off' })
})

test('a task that was stopped can be set to failed, and stays so', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => hang })
  const taskId = await begin(office)
  const params = { projectId: office.projectId, taskId }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  await set(office, taskId, { status: 'failed' })
  await office.restart('power')
  await office.settle()

  expect(await office.task(taskId)).toMatchObject({ status: 'failed', activity: 'off' })
})

test('setting a task to closed is closing it, with what else is changed', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => done })
  const taskId = await begin(office)
  expect(office.machine.outside.worktrees.has(taskId)).toBe(true)
  const closed = await set(office, taskId, { status: 'closed', title: 'Part of it' })

  expect(closed).toMatchObject({ status: 'closed', title: 'Part of it' })
  expect(office.machine.outside.worktrees.has(taskId)).toBe(false)
})

test('a status that cannot follow leaves the agent as it is', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => wait })
  const taskId = await begin(office)

  const change = set(office, taskId, { status: 'draft', title: 'Whole' })
  await expect(change).rejects.toMatchObject({ code: 'TASK_STATUS' })
  expect(await office.task(taskId)).toMatchObject({ status: 'in_progress', activity: 'waiting', title: 'Part' })
})

async function begin(office: Office): Promise<string> {
  await office.say('Hello')
  await office.settle()
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  return taskId
}

function set(office: Office, taskId: string, body: { status?: TaskStatus; title?: string }) {
  const params = { projectId: office.projectId, taskId }
  return office.orchestrator().updateTask({ params, query: {}, body })
}
