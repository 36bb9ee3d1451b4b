import { loopTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice } from './simulation/office.testing.ts'

let office: Office
const finish = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }

test('a provider that is down parks the agent with the reason, nothing is lost, and a message lets it go on', async () => {
  let isDown = true
  const office = await openOffice({
    shop() {
      if (isDown) throw Object.assign(new Error('529 overloaded'), { status: 529 })
      return finish
    },
  })
  await office.say('Do it')
  await office.settle()
  const problem = { code: 'PROVIDER_FAILED', message: expect.stringContaining('529 overloaded') }
  expect(await office.task()).toMatchObject({ activity: 'blocked', status: 'in_progress', problem })
  const calls = office.machine.modelCalls()
  await office.restart()
  await office.settle()
  expect(office.machine.modelCalls()).toBe(calls)
  expect(await office.task()).toMatchObject({ activity: 'blocked', problem })

  isDown = false
  await office.say('Try again')
  await office.settle()
  expect(await office.task()).toMatchObject({ status: 'passed', problem: null })
  expect(office.machine.requests.at(-1)?.text).toContain('Do it')
})

test('whoever lets a task go on that a provider held up has its model asked again, also after a restart', async () => {
  for (const meanwhile of [async () => undefined, () => office.restart()]) {
    let isDown = true
    office = await openOffice({
      shop() {
        if (isDown) throw Object.assign(new Error('529 overloaded'), { status: 529 })
        return finish
      },
    })
    await office.say('Do it')
    await office.settle()
    await meanwhile()
    await office.settle()
    isDown = false
    const params = { projectId: office.projectId, taskId: office.rootId }
    await office.orchestrator().resumeAgent({ params, query: {}, body: undefined })
    await office.settle()

    expect(await office.task()).toMatchObject({ status: 'passed', problem: null })
  }
})

test('an agent that a problem holds up still shows it, and asks nobody, when settings change', async () => {
  const office = await openOffice({
    shop() {
      throw Object.assign(new Error('529 overloaded'), { status: 529 })
    },
  })
  await office.say('Do it')
  await office.settle()
  const calls = office.machine.modelCalls()
  const query = { projectId: office.projectId }
  await office.orchestrator().setConfig({ params: { layer: 'local', key: 'maxTurns' }, query, body: { value: 50 } })
  await office.settle()

  expect(await office.task()).toMatchObject({ activity: 'blocked', problem: { code: 'PROVIDER_FAILED' } })
  expect(office.machine.modelCalls()).toBe(calls)
})

test('a provider that is down for a minute holds up the work, and nobody has to do anything', async () => {
  const office = await openOffice({
    shop() {
      if (office.machine.now() < downUntil) throw Object.assign(new Error('529 overloaded'), { status: 529 })
      return finish
    },
  })
  const downUntil = office.machine.now() + 60_000
  await office.say('Do it')
  await office.settle()

  expect(await office.task()).toMatchObject({ status: 'passed', problem: null })
  expect(office.machine.now()).toBeGreaterThan(downUntil)
  expect((await office.events()).filter(({ type }) => type === 'error')).toEqual([])
})

test('a persistent task that was closed runs again with the next message', async () => {
  const office = await openOffice({ shop: () => ({ calls: [{ name: loopTools.yield }] }), Daily: () => finish })
  const body = { title: 'Daily', description: '', persistent: 'continue' as const }
  const params = { projectId: office.projectId }
  const { id: taskId } = await office.orchestrator().createTask({ params, query: {}, body })
  for (const round of ['first', 'second']) {
    await office.say(`The ${round} time`, { taskId })
    await office.settle()
    expect(await office.task(taskId)).toMatchObject({ status: 'passed' })
    const closed = await office.orchestrator().closeTask({ params: { ...params, taskId }, query: {}, body: undefined })
    expect(closed).toMatchObject({ status: 'pending' })
    await office.restart()
  }

  const request = office.machine.requests.findLast(({ sessionId }) => sessionId === taskId)?.text
  expect(request).toContain('The first time')
  expect(request).toContain('The second time')
})
