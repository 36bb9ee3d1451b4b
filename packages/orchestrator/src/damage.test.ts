import { loopTools, MatrixError } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const none = { query: {}, body: undefined }
const waits: Script = () => ({ calls: [{ name: loopTools.yield }] })

test('a damaged session blocks its own task and names the line; the others go on', async () => {
  const { office, taskId } = await officeWithPart()
  office.machine.damage(taskId, breakLine(3))
  const { problems } = await office.restart()
  await office.settle()

  expect(problems.join()).toContain(`${taskId}.jsonl:4`)
  expect(await office.task(taskId)).toMatchObject({ activity: 'blocked', problem: { code: 'SESSION_CORRUPT' } })
  await expect(office.say('Hello?', { taskId })).rejects.toMatchObject({ code: 'SESSION_CORRUPT' })
  const calls = office.machine.modelCalls()
  await office.say('And you?')
  await office.settle()
  expect(office.machine.modelCalls()).toBe(calls + 1)
})

test('whoever waits for a task whose session is damaged is told so, once', async () => {
  const { office, taskId } = await officeWithPart()
  office.machine.damage(taskId, (text) => text.replace('"type"', '"tyqe"'))
  for (let restarts = 0; restarts < 2; restarts += 1) {
    await office.restart()
    await office.settle()
  }

  const told = (await office.events()).flatMap((event) =>
    event.type === 'message' && event.message.source === 'task_message' ? [event.message.content] : [],
  )
  expect(told).toEqual([expect.stringContaining('This task cannot go on')])
})

test('a damaged session keeps no edit of the tree, no word to others and no start of Matrix from succeeding', async () => {
  const { office, taskId } = await officeWithPart()
  office.machine.damage(office.rootId, (text) => text.replace('"type"', '"tyqe"'))
  await office.restart()
  await office.settle()
  await office.orchestrator().dismissAttention({ params: { attentionId: `failure:${office.rootId}` }, ...none })
  const otherId = await office.create('Other')
  const waiting = await office.orchestrator().listAttention({ params: {}, ...none })
  await office.say('And you?', { taskId })
  const { problems } = await office.restart()
  await office.settle()

  expect(waiting).toMatchObject([{ taskId: office.rootId, text: expect.stringContaining('matrix task repair') }])
  expect(problems.join()).toContain(`${office.rootId}.jsonl:2`)
  expect(await office.task(otherId)).toMatchObject({ title: 'Other' })
  expect(office.machine.requests.at(-1)?.text).toContain('And you?')
})

test('a project whose agents cannot be brought back says why, and the others are', async () => {
  let isBroken = false
  const recover = async () => {
    if (!isBroken) return []
    isBroken = false
    throw new MatrixError('GIT_FAILED', 'git is not there')
  }
  const office = await openOffice(
    { shop: waits, bakery: waits },
    { planted: { worktrees: (worktrees) => ({ ...worktrees, recover }) } },
  )
  const other = await office.register('/bakery')
  await office.say('Hello')
  await office.say('Hello', { projectId: other.projectId, taskId: other.rootId })
  await office.settle()
  isBroken = true
  const resumed = await office.restart()

  expect(resumed).toMatchObject({ waiting: 1, problems: ['shop: git is not there'] })
})

test('a line torn by a power cut is cut off, and the message after it is kept', async () => {
  const { office } = await officeWithPart()
  office.machine.damage(office.rootId, (text) => `${text}{"seq":99,"event":{"type":"mess`)
  const { problems } = await office.restart()
  await office.say('Still there?')
  await office.settle()

  expect(problems).toEqual([])
  expect(office.machine.requests.at(-1)?.text).toContain('Still there?')
})

for (const [how, content] of [
  ['truncated', '{"version":1,"seq":2,"tasks":[\n{"id":"01'],
  ['missing', undefined],
] as const)
  test(`a tree that is ${how} is rebuilt from the sessions, and that is said`, async () => {
    const { office, taskId } = await officeWithPart()
    await office.machine.writeTree(content)
    const { problems } = await office.restart()
    await office.settle()

    expect(problems.join()).toContain('2 tasks were rebuilt from their sessions')
    expect(await office.task(taskId)).toMatchObject({ title: 'Part', status: 'in_progress', parentId: office.rootId })
    await office.say('Hello again', { taskId })
    await office.settle()
    expect(office.machine.requests.some(({ text }) => text.includes('Hello again'))).toBe(true)
  })

test('a tree whose root was never spoken to is rebuilt under that root', async () => {
  const office = await openOffice({ shop: waits, Part: waits })
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  await office.machine.writeTree(undefined)
  await office.restart()
  await office.settle()

  expect(await office.task(taskId)).toMatchObject({ title: 'Part', status: 'in_progress', parentId: office.rootId })
  expect(await office.task()).toMatchObject({ title: 'shop', status: 'pending', parentId: null })
})

test('a tree that is rebuilt gives its tasks back their budgets and agents', async () => {
  const office = await openOffice({ shop: waits, Part: waits })
  const body = { title: 'Part', description: '', parentId: office.rootId, budgetUsd: 1, agent: 'reader' }
  const { id: taskId } = await office
    .orchestrator()
    .createTask({ params: { projectId: office.projectId }, query: {}, body })
  await office.say('Hello')
  await office.say('Go', { taskId })
  await office.settle()
  await office.machine.writeTree(undefined)
  await office.restart()
  await office.settle()

  expect(await office.task(taskId)).toMatchObject({ title: 'Part', budgetUsd: 1, agent: 'reader' })
})

for (const [where, line, title] of [
  ['at its end', 8, 'Part'],
  ['before it says what its task is', 1, 'Task'],
] as const)
  test(`a tree is rebuilt although a session is damaged ${where}, whose task can be repaired`, async () => {
    const { office, taskId } = await officeWithPart()
    office.machine.damage(taskId, breakLine(line))
    await office.machine.writeTree(undefined)
    const { problems } = await office.restart()
    await office.settle()
    await office.say('Are you well?')
    await office.settle()

    expect(problems.join()).toContain(`${taskId}.jsonl:${line + 1}`)
    expect(await office.task(taskId)).toMatchObject({
      title: expect.stringContaining(title),
      parentId: office.rootId,
      activity: 'blocked',
      problem: { code: 'SESSION_CORRUPT' },
    })
    expect(office.machine.requests.at(-1)?.text).toContain('Are you well?')
  })

test('a tree whose root has a damaged session is rebuilt with that root', async () => {
  const { office, taskId } = await officeWithPart()
  office.machine.damage(office.rootId, breakLine(1))
  await office.machine.writeTree(undefined)
  await office.restart()
  await office.settle()

  const root = { parentId: null, title: 'shop', baseBranch: 'trunk', problem: { code: 'SESSION_CORRUPT' } }
  expect(await office.task()).toMatchObject(root)
  expect(await office.task(taskId)).toMatchObject({ parentId: office.rootId, activity: 'waiting' })
})

for (const taskId of ['../../etc/passwd', 'a\0b', '--help', '__proto__', 'constructor', 'toString', ''])
  test(`a task cannot be called ${JSON.stringify(taskId)}`, async () => {
    const office = await openOffice({ shop: waits })

    await expect(office.task(taskId)).rejects.toMatchObject({ code: 'TASK_ID_MALFORMED' })
    await expect(office.say('Hello', { taskId })).rejects.toMatchObject({ code: 'TASK_ID_MALFORMED' })
    expect(office.machine.disk.names().filter((name) => name.endsWith('.jsonl'))).toEqual([])
  })

const breakLine = (line: number) => (text: string) =>
  text
    .split('\n')
    .map((each, index) => (index === line ? each.replace('"type"', '"tyqe"') : each))
    .join('\n')

async function officeWithPart(): Promise<{ office: Office; taskId: string }> {
  const office = await openOffice({ shop: waits, Part: waits })
  await office.say('Hello')
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.settle()
  return { office, taskId }
}
