import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
/** Ten tokens in and ten out, at the price that the simulated world knows. */
const TURN_USD = (10 * 3 + 10 * 15) / 1_000_000
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
