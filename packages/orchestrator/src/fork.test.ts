import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
const finish = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }

test('a fork of oneself begins with what is known there, and its own words follow', async () => {
  const forks: Script = ({ calls }) =>
    calls.length === 0
      ? {
          calls: [
            {
              name: orchestratorTools.forkTaskContext,
              input: { sourceTaskId: office.rootId, targetTaskId: taskId },
            },
          ],
        }
      : calls.length === 1
        ? { calls: [{ name: orchestratorTools.sendMessage, input: { taskId, content: 'Now you.' } }] }
        : wait
  const office: Office = await openOffice({ shop: forks })
  const taskId = await office.create('Part')
  await office.say('The secret is 42.')
  await office.settle()

  const request = office.machine.requests.find(({ sessionId }) => sessionId === taskId)?.text
  expect(request).toContain('The secret is 42.')
  expect(request).toContain('Now you.')
  expect((await office.task(taskId)).costUsd).toBeLessThan((await office.task()).costUsd * 2)
})

test('an agent forks only conversations of its own task and those below it, onto tasks below it', async () => {
  const ids: Record<string, string> = {}
  const pairs = () => [
    [ids.Other, ids.Child],
    [office.rootId, ids.Child],
    [ids.Curious, ids.Other],
  ]
  const curious: Script = ({ calls }) => {
    const [sourceTaskId, targetTaskId] = pairs()[calls.length] ?? []
    return sourceTaskId
      ? { calls: [{ name: orchestratorTools.forkTaskContext, input: { sourceTaskId, targetTaskId } }] }
      : wait
  }
  const office: Office = await openOffice({ shop: () => wait, Curious: curious, Other: () => wait })
  for (const title of ['Other', 'Curious']) ids[title] = await office.create(title)
  ids.Child = await office.create('Child', ids.Curious)
  await office.say('The secret is 42.', { taskId: ids.Other ?? '' })
  await office.say('Look around.', { taskId: ids.Curious ?? '' })
  await office.settle()

  const results = await office.results(ids.Curious)
  expect(results).toHaveLength(3)
  for (const result of results) expect(result).toContain('is not one of your sub tasks')
  expect(await office.events(ids.Child)).toEqual([])
})

test('knowledge is handed on from a closed task to its sibling, and from there to another', async () => {
  const office = await openOffice({ shop: () => wait, First: () => finish })
  const first = await office.create('First')
  const second = await office.create('Second')
  const third = await office.create('Third')
  await office.say('The secret is 42.', { taskId: first })
  await office.settle()
  await office.orchestrator().closeTask({
    params: { projectId: office.projectId, taskId: first },
    query: {},
    body: undefined,
  })
  await fork(office, first, second)
  await office.say('And 43.', { taskId: second })
  await office.settle()
  await fork(office, second, third)
  await office.restart()
  await office.say('What are they?', { taskId: third })
  await office.settle()

  const request = office.machine.requests.findLast(({ sessionId }) => sessionId === third)?.text
  for (const words of ['The secret is 42.', 'And 43.', 'What are they?']) expect(request).toContain(words)
})

test('a fork of an agent that a person stopped is not stopped itself, also after a restart', async () => {
  const office = await openOffice({ shop: () => wait, First: () => wait })
  const first = await office.create('First')
  const second = await office.create('Second')
  await office.say('The secret is 42.', { taskId: first })
  await office.settle()
  const params = { projectId: office.projectId, taskId: first }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  await fork(office, first, second)
  await office.restart()

  expect(await office.task(first)).toMatchObject({ activity: 'stopped' })
  expect(await office.task(second)).toMatchObject({ activity: 'off' })
})

test('a fork up to an event knows nothing of what came after it', async () => {
  const office = await openOffice({ shop: () => wait, First: () => wait })
  const first = await office.create('First')
  const second = await office.create('Second')
  await office.say('The secret is 42.', { taskId: first })
  await office.settle()
  const upTo = (await office.events(first)).length
  await office.say('It is 43 now.', { taskId: first })
  await office.settle()
  await expect(fork(office, first, second, { upTo: 10_000 })).rejects.toMatchObject({ code: 'EVENT_UNKNOWN' })
  await fork(office, first, second, { upTo })
  await fork(office, first, second, { upTo })
  await expect(fork(office, first, second, { upTo: upTo - 1 })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  await office.say('What is it?', { taskId: second })
  await office.settle()

  const request = office.machine.requests.findLast(({ sessionId }) => sessionId === second)?.text
  for (const words of ['The secret is 42.', 'What is it?']) expect(request).toContain(words)
  expect(request).not.toContain('It is 43 now.')
})

test('a task that has begun takes no fork, and none is a fork of itself', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => finish })
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()

  await expect(fork(office, office.rootId, taskId)).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
  await expect(fork(office, taskId, taskId)).rejects.toMatchObject({ code: 'TASK_INVALID' })
})

test('a task that is taken back forgets what came after, keeps what was spent, and goes on when spoken to', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => wait })
  const taskId = await office.create('Part')
  await office.say('The secret is 42.', { taskId })
  await office.settle()
  const upTo = (await office.events(taskId)).length
  await office.say('It is 43 now.', { taskId })
  await office.settle()
  await expect(rewind(office, taskId, upTo)).rejects.toMatchObject({ code: 'AGENT_BUSY' })
  await office.orchestrator().stopAgent({ params: { projectId: office.projectId, taskId }, query: {}, body: undefined })
  await office.settle()
  const { costUsd } = await office.task(taskId)
  await expect(rewind(office, taskId, 10_000)).rejects.toMatchObject({ code: 'EVENT_UNKNOWN' })
  await rewind(office, taskId, upTo)
  await office.restart()
  await office.settle()
  const requests = office.machine.requests.length
  expect((await office.task(taskId)).costUsd).toBe(costUsd)
  await office.say('What is it?', { taskId })
  await office.settle()

  expect(office.machine.requests.length).toBe(requests + 1)
  const request = office.machine.requests.at(-1)?.text
  for (const words of ['The secret is 42.', 'taken back to this point', 'What is it?']) expect(request).toContain(words)
  expect(request).not.toContain('It is 43 now.')
})

test('who was spoken to is at work, and not taken back at the same time', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => wait })
  const taskId = await office.create('Part')
  await office.say('The secret is 42.', { taskId })
  await office.settle()
  const params = { projectId: office.projectId, taskId }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  await office.settle()
  const spoken = office.say('What is it?', { taskId })

  await expect(rewind(office, taskId, 1)).rejects.toMatchObject({ code: 'AGENT_BUSY' })
  await spoken
})

function rewind(office: Office, taskId: string, upTo: number) {
  return office
    .orchestrator()
    .rewindTask({ params: { projectId: office.projectId, taskId }, query: {}, body: { upTo } })
}

function fork(office: Office, taskId: string, targetTaskId: string, options: { upTo?: number } = {}) {
  const params = { projectId: office.projectId, taskId }
  return office.orchestrator().forkTask({ params, query: {}, body: { targetTaskId, ...options } })
}
