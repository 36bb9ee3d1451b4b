import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
const bash = (command: string) => ({ calls: [{ name: 'mcp__mxd__bash', input: { command } }] })
const hangs: Script = ({ calls }) => (calls.length === 0 ? bash('hang') : wait)

test('stopping a task cuts the calls in flight of everything below it, and all stay in progress', async () => {
  const { office, taskId } = await officeWithPart()
  const { stopped } = await stop(office)
  await office.settle()

  expect(stopped.toSorted()).toEqual([office.rootId, taskId].toSorted())
  expect(await office.task(taskId)).toMatchObject({ status: 'in_progress', activity: 'stopped' })
  expect(await office.task()).toMatchObject({ status: 'in_progress', activity: 'stopped' })
  expect(office.machine.outside.effects).toEqual([])
})

test('what was stopped stays stopped over a restart, until somebody lets it go on', async () => {
  const { office, taskId } = await officeWithPart()
  await stop(office)
  const calls = office.machine.modelCalls()
  await office.restart('power')
  await office.settle()
  expect(office.machine.modelCalls()).toBe(calls)
  expect(await office.task(taskId)).toMatchObject({ status: 'in_progress', activity: 'stopped' })

  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().resumeAgent({ params, query: {}, body: undefined })
  await office.settle()
  expect(await office.task(taskId)).toMatchObject({ status: 'in_progress', activity: 'waiting' })
  expect((await office.results(taskId))[0]).toContain('was interrupted before its result')
})

test('a message lets a stopped task go on, and only that one', async () => {
  const { office, taskId } = await officeWithPart()
  await stop(office)
  await office.say('Go on', { taskId })
  await office.settle()

  expect(await office.task(taskId)).toMatchObject({ activity: 'waiting' })
  expect(await office.task()).toMatchObject({ activity: 'stopped' })
})

const says: Record<string, Script> = {
  'sends it a message': ({ calls }) =>
    calls.length < 2
      ? { calls: [{ name: orchestratorTools.sendMessage, input: { taskId: above.id, content: 'I need you.' } }] }
      : wait,
  'comes to its end': () => ({ calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }),
  'cannot go on': () => {
    throw Object.assign(new Error('401 no such key'), { status: 401 })
  },
}
const above = { id: '' }

test.each(Object.entries(says))(
  'a task that a person stopped stays stopped when one below it %s',
  async (_, speaks) => {
    let part: Script = hangs
    const office = await openOffice({ shop: () => wait, Part: (said) => part(said) })
    above.id = office.rootId
    await office.say('Hello')
    const taskId = await office.create('Part')
    await office.say('Go', { taskId })
    await office.settle()
    await stop(office)
    part = speaks
    await office.say('Go on', { taskId })
    await office.settle()

    expect(await office.task()).toMatchObject({ activity: 'stopped' })
    expect(office.machine.requests.filter(({ sessionId }) => sessionId === office.rootId)).toHaveLength(1)
    await office.restart()
    await office.settle()
    expect(await office.task()).toMatchObject({ activity: 'stopped' })
  },
)

test('wherever the process dies, what a person says to a stopped task lets it go on', async () => {
  for (let steps = 1; ; steps += 1) {
    const { office, taskId } = await officeWithPart()
    await stop(office)
    let isStored = false
    const isDead = await office.dieWithin(steps, async () => {
      await office.say('Go on', { taskId })
      isStored = true
    })
    if (isDead) await office.restart()
    await office.settle()

    if (isStored) expect(await office.task(taskId), `after ${steps} steps`).toMatchObject({ activity: 'waiting' })
    if (!isDead) return
  }
})

test('wherever the process dies, a task that was resumed resumes', async () => {
  for (let steps = 1; ; steps += 1) {
    const { office, taskId } = await officeWithPart()
    await stop(office)
    let isAnswered = false
    const isDead = await office.dieWithin(steps, async () => {
      const params = { projectId: office.projectId, taskId: office.rootId }
      await office.orchestrator().resumeAgent({ params, query: {}, body: undefined })
      isAnswered = true
    })
    if (isDead) await office.restart('power')
    await office.settle()

    if (isAnswered)
      for (const id of [office.rootId, taskId])
        expect(await office.task(id), `after ${steps} steps`).toMatchObject({ activity: 'waiting' })
    if (!isDead) return
  }
})

test('after a restart those who wait make no model call, and whoever was at work goes on', async () => {
  const { office, taskId } = await officeWithPart()
  const before = office.machine.modelCalls()
  const resumed = await office.restart()
  await office.settle()

  expect(resumed).toMatchObject({ waiting: 1, continued: 1, problems: [] })
  expect(office.machine.requests.slice(before).map(({ sessionId }) => sessionId)).toEqual([taskId])
  expect((await office.results(taskId))[0]).toContain('was interrupted before its result')
  expect(office.machine.violations).toEqual([])
})

test('fifty parked agents make no model call after a restart', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `Part${index}`)
  const office = await openOffice({ shop: () => wait, ...Object.fromEntries(names.map((name) => [name, () => wait])) })
  await office.say('Hello')
  for (const name of names) await office.say('Wait', { taskId: await office.create(name) })
  await office.settle()
  const calls = office.machine.modelCalls()
  const resumed = await office.restart()
  await office.settle()

  expect(resumed.waiting).toBe(51)
  expect(office.machine.modelCalls()).toBe(calls)
  expect(office.orchestrator().agents()).toEqual({ live: 51, working: 0 })
})

test('whoever is put to sleep for new settings while a message reaches it has read that message in the end', async () => {
  for (let moment = 0; moment < 120; moment += 1) {
    const office = await openOffice({ shop: () => wait })
    await office.say('Hello')
    await office.settle()
    const said = office.say('Are you there?')
    for (let ticks = moment; ticks > 0; ticks -= 1) await undefined
    const changed = office.orchestrator().setConfig({
      params: { layer: 'local', key: 'maxTurns' },
      query: { projectId: office.projectId },
      body: { value: 50 },
    })
    await Promise.all([said, changed])
    await office.settle()

    expect(office.machine.modelCalls(), `at moment ${moment}`).toBe(2)
  }
})

test('whoever is stopped while it is put to sleep for new settings stays stopped', async () => {
  for (let moment = 0; moment < 60; moment += 1) {
    const office = await openOffice({ shop: () => wait })
    await office.say('Hello')
    await office.settle()
    const changed = office.orchestrator().setConfig({
      params: { layer: 'local', key: 'maxTurns' },
      query: { projectId: office.projectId },
      body: { value: 50 },
    })
    for (let ticks = moment; ticks > 0; ticks -= 1) await undefined
    await Promise.all([changed, stop(office)])
    await office.settle()

    expect(await office.task(), `at moment ${moment}`).toMatchObject({ activity: 'stopped' })
  }
})

async function officeWithPart(): Promise<{ office: Office; taskId: string }> {
  const office = await openOffice({ shop: () => wait, Part: hangs })
  await office.say('Hello')
  await office.settle()
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  return { office, taskId }
}

function stop(office: Office) {
  const params = { projectId: office.projectId, taskId: office.rootId }
  return office.orchestrator().stopAgent({ params, query: {}, body: undefined })
}
