import { loopTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

let office: Office
const wait = { calls: [{ name: loopTools.yield }] }
const waits: Script = () => wait
const finish = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }
const bash = (command: string) => ({ calls: [{ name: 'mcp__mxd__bash', input: { command } }] })

test('a message to a waiting task wakes it, and is read once', async () => {
  const office = await openOffice({ shop: waits })
  await office.say('First')
  await office.settle()
  const id = await office.say('Second')
  await office.settle()

  expect(office.machine.modelCalls()).toBe(2)
  expect(await consumed(office)).toEqual([expect.any(String), id])
  expect(await office.task()).toMatchObject({ status: 'in_progress', activity: 'waiting', pendingMessages: 0 })
})

test('the same request sent twice is one message, also across a restart', async () => {
  const office = await openOffice({ shop: waits })
  const first = await office.say('Hello', { requestId: 'r1' })
  await office.settle()
  const second = await office.say('Hello', { requestId: 'r1' })
  await office.restart()
  const third = await office.say('Hello', { requestId: 'r1' })
  await office.settle()

  expect([second, third]).toEqual([first, first])
  expect((await office.events()).filter(({ type }) => type === 'message')).toHaveLength(1)
  expect(office.machine.modelCalls()).toBe(1)
})

test('wherever the machine dies at the first word, the root is still the one that was spoken to, and hears it once', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await openOffice({ shop: waits })
    const speak = () => office.say('First word', { requestId: 'first' })
    const isDead = await office.dieWithin(steps, speak, steps % 2 === 0 ? 'kill' : 'power')
    if (isDead) await office.restart()
    await speak()
    await office.settle()

    const [project] = await office.orchestrator().listProjects({ params: {}, query: {}, body: undefined })
    const heard = (await office.events()).filter(
      (event) => event.type === 'message' && JSON.stringify(event.message).includes('First word'),
    )
    expect(project?.rootTaskId, `after ${steps} steps`).toBe(office.rootId)
    expect(heard).toHaveLength(1)
    expect(office.machine.requests.at(-1)?.text).toContain('First word')
    if (!isDead) return
  }
})

test('a message to a task that has ended lets it go on', async () => {
  const office = await openOffice({ shop: () => finish })
  await office.say('Do it')
  await office.settle()
  expect(await office.task()).toMatchObject({ status: 'passed' })
  await office.say('One more thing')
  await office.settle()

  expect(office.machine.requests.at(-1)?.text).toContain('One more thing')
  expect(await office.task()).toMatchObject({ status: 'passed', pendingMessages: 0 })
})

test('a request that is repeated after its task has ended changes nothing', async () => {
  const office = await openOffice({ shop: () => finish })
  await office.say('Do it', { requestId: 'r1' })
  await office.settle()
  await office.restart()
  const before = await office.events()
  await office.say('Do it', { requestId: 'r1' })
  await office.settle()

  expect(await office.task()).toMatchObject({ status: 'passed', problem: null })
  expect(await office.events()).toEqual(before)
})

test('a message to a closed task is refused with what to do', async () => {
  const office = await openOffice({ shop: waits, Part: () => finish })
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  await office.orchestrator().closeTask({ params: { projectId: office.projectId, taskId }, query: {}, body: undefined })

  await expect(office.say('Hello?', { taskId })).rejects.toMatchObject({ code: 'TASK_STATUS', hint: /Reset it/ })
})

test('a message that nobody has read yet can be taken back, and one that was read cannot', async () => {
  const office = await openOffice({ shop: () => bash('hang') })
  const read = await office.say('Work')
  await office.settle()
  const messageId = await office.say('Never mind')
  const params = { projectId: office.projectId, taskId: office.rootId }
  const withdraw = (id: string) =>
    office.orchestrator().withdrawMessage({ params: { ...params, messageId: id }, query: {}, body: undefined })
  await withdraw(messageId)
  await office.restart()
  await office.settle()

  expect(office.machine.requests.at(-1)?.text).not.toContain('Never mind')
  expect(await office.task()).toMatchObject({ pendingMessages: 0 })
  await expect(withdraw(read)).rejects.toMatchObject({ code: 'MESSAGE_CONSUMED' })
})

test('the task above hears what a person says to a sub task and that it has ended', async () => {
  const office = await openOffice({ shop: waits, Part: () => finish })
  await office.say('Hello')
  await office.settle()
  const taskId = await office.create('Part')
  await office.say('Use UTC.', { taskId })
  await office.settle()

  const heard = office.machine.requests.filter(({ sessionId }) => sessionId === office.rootId).at(-1)?.text
  expect(heard).toContain('Use UTC.')
  expect(heard).toContain('Part')
  const sources = (await office.events()).flatMap((event) => (event.type === 'message' ? [event.message.source] : []))
  expect(sources.toSorted()).toEqual(['task_complete', 'tree_change', 'user', 'user_message_forwarded'])
})

test('what a user creates, changes and deletes costs no turn, and is heard once with the next message', async () => {
  for (const meanwhile of [async () => undefined, () => office.restart()]) {
    office = await openOffice({ shop: waits })
    await office.say('Hello')
    await office.settle()
    const calls = office.machine.modelCalls()
    const taskId = await office.create('Part')
    const params = { projectId: office.projectId, taskId }
    await office.orchestrator().updateTask({ params, query: {}, body: { title: 'Piece' } })
    await office.settle()
    await meanwhile()
    await office.orchestrator().deleteTask({ params, query: {}, body: undefined })
    await office.settle()

    expect(office.machine.modelCalls()).toBe(calls)
    expect(await office.task()).toMatchObject({ activity: 'waiting', pendingMessages: 3 })
    await office.say('Go on')
    await office.settle()
    expect(office.machine.modelCalls()).toBe(calls + 1)
    const heard = office.machine.requests.at(-1)?.text ?? ''
    for (const word of ['Part', 'Piece', 'deleted', 'Go on']) expect(heard).toContain(word)
    expect(await office.task()).toMatchObject({ pendingMessages: 0 })
  }
})

test('an agent that repeats itself is parked, and the task above and a person are told', async () => {
  const office = await openOffice({ shop: waits, Part: () => bash('same again') })
  await office.say('Hello')
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()

  expect(office.machine.modelCalls()).toBeLessThan(60)
  expect(await office.task(taskId)).toMatchObject({ activity: 'blocked', problem: { code: 'LOOP_DETECTED' } })
  const toRoot = office.machine.requests.filter(({ sessionId }) => sessionId === office.rootId)
  expect(toRoot.at(-1)?.text).toContain('LOOP_DETECTED')
  const calls = office.machine.modelCalls()
  await office.restart()
  await office.settle()
  expect(office.machine.modelCalls()).toBe(calls)
  expect(await office.task(taskId)).toMatchObject({ activity: 'blocked', problem: { code: 'LOOP_DETECTED' } })
})

test('a disk that is full acknowledges nothing, and everything goes on when there is space', async () => {
  const office = await openOffice({ shop: waits })
  await office.say('First')
  await office.settle()
  office.machine.disk.setCapacity(0)
  await expect(office.say('Second')).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  office.machine.disk.setCapacity(Number.POSITIVE_INFINITY)
  await office.settle()
  await office.say('Third')
  await office.settle()

  expect(office.machine.requests.at(-1)?.text).toContain('Third')
  expect(JSON.stringify(await office.events())).not.toContain('Second')
})

test('a turn writes about as much to the disk as was said in it', async () => {
  const office = await openOffice({ shop: waits })
  await office.say('First')
  await office.settle()
  const { disk } = office.machine
  const size = () => disk.names().reduce((sum, name) => sum + (disk.readNow(name)?.byteLength ?? 0), 0)
  const before = size()
  for (let turn = 0; turn < 10; turn += 1) {
    await office.say('x'.repeat(200))
    await office.settle()
  }

  expect(office.machine.modelCalls()).toBe(11)
  expect((size() - before) / 10).toBeLessThan(2_000)
})

async function consumed(office: { events(): Promise<{ type: string }[]> }): Promise<string[]> {
  return (await office.events()).flatMap((event) =>
    event.type === 'messages_consumed' ? (event as unknown as { messageIds: string[] }).messageIds : [],
  )
}
