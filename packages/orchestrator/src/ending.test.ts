import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
const asks = { calls: [{ name: loopTools.clarify, input: { question: 'Which one?' } }] }
const bash = (command: string) => ({ calls: [{ name: 'mcp__mxd__bash', input: { command } }] })

/** How an agent came to a rest that it did not choose as its end. */
const rests: Record<string, { part: Script; act?: (office: Office, taskId: string) => Promise<unknown> }> = {
  'only waits': { part: () => wait },
  'waits for an answer': { part: () => asks },
  'was stopped': { part: () => bash('hang'), act: stop },
  'cannot go on': {
    part: () => {
      throw Object.assign(new Error('401 no such key'), { status: 401 })
    },
  },
  'waits since before a restart': { part: () => wait, act: (office) => office.restart('power') },
}
const endings = { resetTask: 'pending', closeTask: 'closed', deleteTask: undefined } as const
type Ending = keyof typeof endings
const cases = Object.keys(rests).flatMap((how) =>
  (Object.keys(endings) as Ending[]).map((ending) => [how, ending] as const),
)

test.each(cases)('a task whose agent %s takes %s, with all below it', async (how, ending) => {
  const { part, act } = rests[how] ?? { part: () => wait }
  const office = await openOffice({ shop: () => wait, Part: part, Piece: part })
  const { taskId, pieceId } = await begin(office)
  await act?.(office, taskId)
  await office.settle()
  await end(office, ending, taskId)
  await office.settle()

  for (const life of ['first', 'second']) {
    const tasks = await office
      .orchestrator()
      .listTasks({ params: { projectId: office.projectId }, query: {}, body: undefined })
    const states = tasks.slice(1).map(({ id, status, activity, needs }) => ({ id, status, activity, needs }))
    const rest = { activity: 'off', needs: [] }
    const expected =
      ending === 'deleteTask'
        ? []
        : [
            { id: taskId, status: endings[ending], ...rest },
            { id: pieceId, status: 'pending', ...rest },
          ]
    expect(states, `in its ${life} life`).toEqual(expected)
    expect(office.machine.outside.worktrees.has(taskId), `in its ${life} life`).toBe(false)
    if (life === 'first') await office.restart()
    await office.settle()
  }
  expect(office.machine.violations).toEqual([])
})

test.each(Object.keys(endings) as Ending[])(
  '%s leaves a task alone that is at work, and says how to stop it',
  async (ending) => {
    const office = await openOffice({ shop: () => wait, Part: () => wait, Piece: () => bash('hang') })
    const { taskId, pieceId } = await begin(office)

    await expect(end(office, ending, taskId)).rejects.toMatchObject({
      code: 'AGENT_BUSY',
      message: expect.stringContaining(pieceId),
      hint: expect.stringContaining(`matrix stop ${pieceId}`),
    })
    expect(await office.task(taskId)).toMatchObject({ status: 'in_progress', activity: 'waiting' })
    expect(await office.task(pieceId)).toMatchObject({ status: 'in_progress', activity: 'working' })
    await stop(office, pieceId)
    await end(office, ending, taskId)
  },
)

test('an agent cannot be done before its sub tasks have ended: neither one that runs, nor one that never started', async () => {
  const done = { name: loopTools.done, input: { status: 'passed', summary: 'All of it.' } }
  const office = await openOffice({
    shop: ({ last }) => (last.includes('End') ? { calls: [done] } : wait),
    Part: () => wait,
  })
  await office.say('Hello')
  const taskId = await office.create('Part')
  const ask = async (how: string) => {
    await office.say(`End ${how}`)
    await office.settle()
    return (await office.results()).at(-1)
  }

  expect(await ask('early')).toContain('"Part" never started')
  await office.say('Go', { taskId })
  await office.settle()
  expect(await ask('too early')).toContain('"Part" still run')
  await end(office, 'closeTask', taskId)
  expect(await ask('now')).toBe('The task is ended.')
  expect(await office.task()).toMatchObject({ status: 'passed' })
})

test('what cannot be ended is left as it is', async () => {
  const office = await openOffice({ shop: () => wait, Part: () => wait })
  const params = { projectId: office.projectId }
  const body = { title: 'Folder', folder: true as const }
  const folder = await office.orchestrator().createTask({ params, query: {}, body })
  const taskId = await office.create('Part', folder.id)
  await office.say('Go', { taskId })
  await office.say('Hello')
  await office.settle()

  for (const ending of ['closeTask', 'deleteTask'] as const)
    await expect(end(office, ending, office.rootId), ending).rejects.toMatchObject({ code: 'TASK_STATUS' })
  await expect(end(office, 'resetTask', folder.id)).rejects.toMatchObject({ code: 'TASK_STATUS' })
  for (const id of [office.rootId, taskId]) expect(await office.task(id)).toMatchObject({ activity: 'waiting' })
})

test('an agent brings a sub task that never ends back to its beginning, and it starts over', async () => {
  const office = await openOffice({
    shop({ calls, heard }) {
      const made = calls.find(({ name }) => name === orchestratorTools.createTask)
      const taskId = /task (\w{26})/.exec(made?.result ?? '')?.[1]
      const steps = [
        { name: orchestratorTools.createTask, input: { title: 'Part', description: '' } },
        { name: orchestratorTools.sendMessage, input: { taskId, content: 'Go' } },
        { name: loopTools.yield },
        { name: orchestratorTools.resetTask, input: { taskId } },
        { name: orchestratorTools.sendMessage, input: { taskId, content: 'Once more' } },
      ]
      return {
        calls: [steps[heard.includes('Now') || calls.length < 3 ? calls.length : 5] ?? { name: loopTools.yield }],
      }
    },
    Part: () => wait,
  })
  await office.say('Go')
  await office.settle()
  await office.say('Now')
  await office.settle()

  const { children } = await office.task()
  const heard = (await office.events(children[0])).flatMap((event) =>
    event.type === 'message' && event.message.source === 'task_message' ? [event.message.content] : [],
  )
  expect(heard).toEqual(['Once more'])
  expect(await office.task(children[0])).toMatchObject({ status: 'in_progress', activity: 'waiting' })
})

test.each(Object.keys(endings) as Ending[])(
  'wherever the process dies in %s, asking again ends the task',
  async (ending) => {
    for (let steps = 1; ; steps += 2) {
      const office = await openOffice({ shop: () => wait, Part: () => wait, Piece: () => wait })
      const { taskId, pieceId } = await begin(office)
      const calls = office.machine.modelCalls()
      const isDead = await office.dieWithin(steps, () => end(office, ending, taskId))
      if (isDead) {
        await office.restart()
        await office.settle()
        const isGone = !(await tasks(office)).includes(taskId)
        if (!isGone) await end(office, ending, taskId)
      }
      await office.settle()

      const about = `after ${steps} steps`
      expect(await tasks(office), about).toEqual(
        ending === 'deleteTask' ? [office.rootId] : [office.rootId, taskId, pieceId],
      )
      if (ending !== 'deleteTask') expect(await office.task(taskId), about).toMatchObject({ status: endings[ending] })
      if (ending === 'resetTask') expect(await office.events(taskId), about).toEqual([])
      // The root alone hears of it.
      const since = office.machine.requests.slice(calls).map(({ sessionId }) => sessionId)
      expect(
        since.filter((id) => id !== office.rootId),
        about,
      ).toEqual([])
      expect(office.machine.violations, about).toEqual([])
      if (!isDead) return
    }
  },
)

test('wherever the process dies, a `done` with work uncommitted ends nothing', async () => {
  const steps: ReturnType<Script>[] = [
    bash('write A.txt hello'),
    { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] },
  ]
  for (let moment = 1; ; moment += 1) {
    const office = await openOffice({ shop: ({ calls }) => steps[calls.length] ?? wait })
    const isDead = await office.dieWithin(moment, () => office.say('Go', { requestId: 'go' }))
    if (isDead) {
      await office.restart('power')
      await office.say('Go', { requestId: 'go' })
    }
    await office.settle()

    const about = `after ${moment} steps`
    expect(await office.task(), about).toMatchObject({ status: 'in_progress', activity: 'waiting' })
    expect((await office.results()).at(-1), about).toMatch(/Not ended: not committed yet: A.txt|was interrupted before/)
    expect(office.machine.violations, about).toEqual([])
    if (!isDead) return
  }
})

async function begin(office: Office): Promise<{ taskId: string; pieceId: string }> {
  await office.say('Hello')
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  const pieceId = await office.create('Piece', taskId)
  await office.say('Go', { taskId: pieceId })
  await office.settle()
  return { taskId, pieceId }
}

async function tasks(office: Office): Promise<string[]> {
  const params = { projectId: office.projectId }
  return (await office.orchestrator().listTasks({ params, query: {}, body: undefined })).map(({ id }) => id)
}

async function end(office: Office, ending: Ending, taskId: string): Promise<unknown> {
  const params = { projectId: office.projectId, taskId }
  return office.orchestrator()[ending]({ params, query: {}, body: undefined })
}

async function stop(office: Office, taskId: string): Promise<unknown> {
  const params = { projectId: office.projectId, taskId }
  return office.orchestrator().stopAgent({ params, query: {}, body: undefined })
}

test('wherever the process dies, a task that ends beside a yield has ended', async () => {
  const finish = {
    calls: [{ name: loopTools.yield }, { name: loopTools.done, input: { status: 'passed', summary: 'It is.' } }],
  }
  const part: Script = ({ last }) => (last.includes('Finish') ? finish : wait)
  let isDead = true
  for (let steps = 1; isDead; steps += 3) {
    const office = await openOffice({ shop: () => wait, Part: part })
    await office.say('Hello')
    const id = await office.create('Part')
    await office.say('Go', { taskId: id })
    await office.settle()
    isDead = await office.dieWithin(steps, () => office.say('Finish', { taskId: id, requestId: 'r' }))
    if (isDead) await office.restart()
    await office.settle()

    const hasEnded = (await office.events(id)).some(({ type }) => type === 'orchestration_completed')
    if (hasEnded) expect(await office.task(id)).toMatchObject({ status: 'passed' })
  }
})
