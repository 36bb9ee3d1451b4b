import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { openOffice } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }

test('an agent compacts no task that the user has stopped', async () => {
  let id = ''
  const nudge = () => ({ calls: [{ name: orchestratorTools.sendMessage, input: { taskId: id, content: '/compact' } }] })
  const office = await openOffice({
    shop: ({ last }) => (last.includes('Nudge') ? nudge() : wait),
    Part: ({ calls }) =>
      calls.length === 0 ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'hang' } }] } : wait,
  })
  await office.say('Hello')
  id = await office.create('Part')
  await office.say('Go', { taskId: id })
  await office.settle()
  const params = { projectId: office.projectId, taskId: id }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  await office.settle()
  await office.say('Nudge')
  await office.settle()

  expect(await office.task(id)).toMatchObject({ activity: 'stopped' })
  expect(await office.results()).toContainEqual(expect.stringContaining('the user has stopped "Part"'))
})

test('a sentence that begins with the word of a command is heard by the agent', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => wait })
  await office.say('Hello')
  const id = await office.create('Part')
  await office.say('/close button does not react, please fix it', { taskId: id })
  await office.settle()

  expect(await office.task(id)).toMatchObject({ status: 'in_progress' })
})
