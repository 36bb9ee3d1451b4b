import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
/** Ten tokens in and ten out, at the price that the simulated world knows. */
const TURN_USD = (10 * 3 + 10 * 15) / 1_000_000
let office: Office
/** Each turn takes a minute. */
const takesTime: Script = (said) => {
  office.machine.jump(60_000)
  return works(said)
}
const ends: Script = () => ({ calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] })
const works: Script = ({ calls }) => ({
  calls: [{ name: 'mcp__mxd__bash', input: { command: `step ${calls.length}` } }],
})

test('a task stops within a turn of its budget, says so, and goes on when there is more', async () => {
  const office = await openOffice({ shop: () => wait, Part: works })
  await office.say('Hello')
  const taskId = await office.create('Part')
  await raise(5.5)
  await office.say('Go', { taskId })
  await office.settle()
  const task = await office.task(taskId)
  expect(task).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' } })
  expect(task.costUsd).toBeLessThanOrEqual(6.5 * TURN_USD)
  expect((await attention()).map(({ kind }) => kind)).toEqual(['budget'])

  await office.restart()
  await office.settle()
  expect((await office.task(taskId)).costUsd).toBeCloseTo(task.costUsd, 9)
  await raise(20.5)
  await office.settle()
  const after = await office.task(taskId)
  expect(after.costUsd).toBeGreaterThan(task.costUsd)
  expect(after.costUsd).toBeLessThanOrEqual(21.5 * TURN_USD)

  function raise(turns: number) {
    const params = { projectId: office.projectId, taskId }
    return office.orchestrator().updateTask({ params, query: {}, body: { budgetUsd: turns * TURN_USD } })
  }
  function attention() {
    return office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
  }
})

test('the budget of a tree holds for all of its tasks together', async () => {
  const names = ['One', 'Two', 'Three']
  const office = await openOffice({ shop: () => wait, ...Object.fromEntries(names.map((name) => [name, works])) })
  await office.say('Hello')
  await office.settle()
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().updateTask({ params, query: {}, body: { budgetUsd: 12 * TURN_USD } })
  for (const name of names) await office.say('Go', { taskId: await office.create(name) })
  await office.settle()

  const { treeCostUsd } = await office.task()
  // One turn of each may be in flight when the money ends.
  expect(treeCostUsd).toBeLessThanOrEqual((12 + names.length + 1) * TURN_USD)
  expect(treeCostUsd).toBeGreaterThanOrEqual(11 * TURN_USD)
})

test('the nearest task above that still runs hears that a budget is used up', async () => {
  const office = await openOffice({ shop: () => wait, Part: ends, Piece: works })
  await office.say('Hello')
  const partId = await office.create('Part')
  await office.say('Go', { taskId: partId })
  await office.settle()
  const pieceId = await office.create('Piece', partId)
  expect((await office.task(partId)).status).toBe('passed')
  const params = { projectId: office.projectId, taskId: pieceId }
  await office.orchestrator().updateTask({ params, query: {}, body: { budgetUsd: 2.5 * TURN_USD } })
  await office.say('Go', { taskId: pieceId })
  await office.settle()
  await office.restart()
  await office.settle()

  const told = (await office.events()).flatMap((event) => (event.type === 'message' ? [event.message] : []))
  const about = told.filter((message) => message.source === 'task_message' && message.fromTaskId === pieceId)
  expect(about).toEqual([expect.objectContaining({ content: expect.stringContaining('BUDGET_EXCEEDED') })])
})

test('what a deleted task has spent stays spent for the tasks above it, also after a restart', async () => {
  const office = await openOffice({ shop: () => wait, Part: ends, Piece: ends })
  await office.say('Hello')
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.say('Go', { taskId: await office.create('Piece', taskId) })
  await office.settle()
  const figures: number[] = []
  office.orchestrator().subscribe((frame) => {
    if (frame.kind === 'task' && frame.task.id === office.rootId) figures.push(frame.task.treeCostUsd)
  })

  const params = { projectId: office.projectId, taskId }
  await office.orchestrator().deleteTask({ params, query: {}, body: undefined })
  await office.settle()
  const spent = office.machine.modelCalls() * TURN_USD
  expect(figures.at(-1)).toBeCloseTo(spent, 9)
  await office.restart('power')
  expect((await office.task()).treeCostUsd).toBeCloseTo(spent, 9)
})

test('an agent that deletes what it has had done gets no money back for it', async () => {
  const manages: Script = ({ calls }) => {
    const made = calls.findLast(({ name }) => name === orchestratorTools.createTask)
    const id = /task (\w{26})/.exec(made?.result ?? '')?.[1]
    const rounds = [
      { name: orchestratorTools.createTask, input: { title: 'Part', description: '' } },
      { name: orchestratorTools.sendMessage, input: { taskId: id, content: 'Go' } },
      { name: loopTools.yield },
      { name: orchestratorTools.deleteTask, input: { taskId: id } },
    ]
    return { calls: [rounds[calls.length % 4] ?? { name: loopTools.yield }] }
  }
  const office = await openOffice({ shop: manages, Part: ends }, { settings: { treeBudgetUsd: 20 * TURN_USD } })
  await office.say('Hello')
  await office.settle()

  expect(await office.task()).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' }, children: [] })
  expect(office.machine.modelCalls()).toBeLessThanOrEqual(21)
})

test('a budget that is lowered in the settings holds for those who are at work', async () => {
  const office = await openOffice({
    shop(said) {
      if (said.calls.length === 3) void set(office, 'treeBudgetUsd', 5 * TURN_USD)
      return said.calls.length < 30 ? works(said) : wait
    },
  })
  await office.say('Go')
  await office.settle()

  expect(await office.task()).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' } })
  expect(office.machine.modelCalls()).toBeLessThan(10)
})

test.each(['budgetUsd', 'treeBudgetUsd'])(
  'whoever %s has stopped goes on when it is raised in the settings',
  async (key) => {
    const office = await openOffice({ shop: works }, { settings: { [key]: 4.5 * TURN_USD } })
    await office.say('Go')
    await office.settle()
    expect(await office.task()).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' } })
    const calls = office.machine.modelCalls()
    await set(office, key, 4.6 * TURN_USD)
    await set(office, 'maxTurns', 500)
    await office.settle()
    const waiting = await office.task()
    expect(waiting).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' }, pendingMessages: 0 })
    expect(office.machine.modelCalls()).toBe(calls)

    await set(office, key, 9.5 * TURN_USD)
    await office.settle()
    const { costUsd } = await office.task()
    expect(costUsd).toBeGreaterThan(waiting.costUsd)
    expect(costUsd).toBeLessThanOrEqual(10.5 * TURN_USD)
  },
)

test('a budget that is raised for all projects lets agents of every project go on', async () => {
  const office = await openOffice({ depot: works }, { settings: { budgetUsd: 4.5 * TURN_USD } })
  const depot = await office.register('/depot')
  await office.say('Go', { projectId: depot.projectId, taskId: depot.rootId })
  await office.settle()
  const calls = office.machine.modelCalls()
  await set(office, 'budgetUsd', 9.5 * TURN_USD)
  await office.settle()

  expect(office.machine.modelCalls()).toBe(calls + 5)
})

test('wherever the process dies, whoever a budget has stopped goes on once it is raised', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await openOffice({ shop: works }, { settings: { budgetUsd: 4.5 * TURN_USD } })
    await office.say('Go')
    await office.settle()
    const { costUsd } = await office.task()
    const isDead = await office.dieWithin(steps, () => set(office, 'budgetUsd', 6.5 * TURN_USD))
    if (isDead) await office.restart()
    await office.settle()

    const after = await office.task()
    expect(after.costUsd, `after ${steps} steps`).toBeGreaterThan(costUsd)
    expect(after, `after ${steps} steps`).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' } })
    const told = (await office.events()).filter(
      (event) => event.type === 'message' && event.message.source === 'tree_change',
    )
    expect(told, `after ${steps} steps`).toHaveLength(1)
    if (!isDead) return
  }
})

test.each([
  ['budgetTokens', 'treeBudgetTokens', 90, 190],
  ['budgetMinutes', 'treeBudgetMinutes', 4.5, 9.5],
] as const)(
  'a task stops within a turn of its %s, also those of the settings, and resumes when it is raised',
  async (own, tree, low, high) => {
    for (const key of [own, tree, 'task'] as const) {
      office = await openOffice({ shop: own === 'budgetTokens' ? works : takesTime })
      const limit = (value: number) => {
        const params = { projectId: office.projectId, taskId: office.rootId }
        if (key !== 'task') return set(office, key, value)
        return office.orchestrator().updateTask({ params, query: {}, body: { [own]: value } })
      }
      await limit(low)
      await office.say('Go')
      await office.settle()
      const stopped = await office.task()
      expect(stopped, key).toMatchObject({ activity: 'blocked', problem: { code: 'BUDGET_EXCEEDED' } })
      const calls = office.machine.modelCalls()
      expect(calls).toBeLessThanOrEqual(7)
      await office.restart('power')
      await office.settle()
      expect(office.machine.modelCalls()).toBe(calls)
      expect((await office.task()).treeSpent).toEqual(stopped.treeSpent)

      await limit(high)
      await office.settle()
      expect(office.machine.modelCalls()).toBeGreaterThan(calls)
      expect(office.machine.modelCalls()).toBeLessThanOrEqual(12)
    }
  },
)

test('a model without a price has no budget in dollars: the task says what to do, and resumes once it has one in tokens', async () => {
  office = await openOffice({ shop: works }, { settings: { treeBudgetUsd: 1 }, model: 'nobody-prices-this' })
  await office.say('Go')
  await office.settle()
  expect(await office.task()).toMatchObject({ activity: 'blocked', problem: { code: 'PRICE_UNKNOWN' } })
  expect((await office.task()).problem?.hint).toContain('matrix config set prices')
  expect(office.machine.modelCalls()).toBe(0)
  await office.restart()
  await office.settle()
  expect(office.machine.modelCalls()).toBe(0)

  await set(office, 'treeBudgetTokens', 90)
  const params = { layer: 'global' as const, key: 'treeBudgetUsd' }
  await office.orchestrator().unsetConfig({ params, query: {}, body: undefined })
  await office.settle()
  const task = await office.task()
  expect(task).toMatchObject({ problem: { code: 'BUDGET_EXCEEDED' }, treeCostUsd: 0 })
  expect(task.treeSpent).toMatchObject({ usd: 0, unpricedTurns: 5, tokens: 100 })
})

function set(office: Office, key: string, value: number) {
  const { projectId } = office
  return office.orchestrator().setConfig({ params: { layer: 'global', key }, query: { projectId }, body: { value } })
}
