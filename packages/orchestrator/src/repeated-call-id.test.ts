import { type DurableEvent, loopTools, orchestratorTools, type QueueMessage } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const none = { query: {}, body: undefined }
const wait = { name: loopTools.yield }
const finish = { name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }

/** A model whose provider numbers the calls of each answer anew. */
const numbered =
  (next: (turn: number) => { name: string; input?: Record<string, unknown> }): Script =>
  ({ calls }) => ({ calls: [{ ...next(calls.length), id: 'call_0' }] })

const waits = numbered(() => wait)

test('every message of an agent is heard once, wherever the process dies on the way', async () => {
  for (let steps = 1; ; steps += 1) {
    let partId = ''
    const office = await openOffice({
      shop: numbered((turn) =>
        turn < 2 ? { name: orchestratorTools.sendMessage, input: { taskId: partId, content: `word ${turn}` } } : wait,
      ),
      Part: waits,
    })
    partId = await office.create('Part')
    const tell = () => office.say('Tell it', { requestId: 'r1' })
    const isDead = await office.dieWithin(steps, tell, steps % 2 === 0 ? 'kill' : 'power')
    if (isDead) await office.restart()
    await tell()
    await office.settle()

    const heard = (await messagesOf(office, partId)).map((message) => 'content' in message && message.content)
    expect(heard, `after ${steps} steps`).toEqual(['word 0', 'word 1'])
    if (!isDead) return
  }
})

test('every message to another project is heard there', async () => {
  let garden = { projectId: '', rootId: '' }
  const office = await openOffice({
    shop: numbered((turn) =>
      turn < 2
        ? {
            name: orchestratorTools.sendMessageToProject,
            input: { projectId: garden.projectId, content: `word ${turn}` },
          }
        : wait,
    ),
    garden: waits,
  })
  garden = await office.register('/garden')
  await office.approveMessages(garden.projectId)
  await office.say('Tell them')
  await office.settle()

  expect(await messagesOf(office, garden.rootId)).toMatchObject([{ content: 'word 0' }, { content: 'word 1' }])
})

test('the task above hears of each end once, wherever the process dies on the way', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await openOffice({ shop: waits, Part: numbered(() => finish) })
    await office.say('Hello')
    const taskId = await office.create('Part')
    await office.say('Go', { taskId })
    await office.settle()
    const more = () => office.say('One more thing', { taskId, requestId: 'r1' })
    const isDead = await office.dieWithin(steps, more, steps % 2 === 0 ? 'kill' : 'power')
    if (isDead) await office.restart()
    await more()
    await office.settle()

    const ends = (await messagesOf(office)).filter(({ source }) => source === 'task_complete')
    expect(ends, `after ${steps} steps`).toHaveLength(2)
    expect(await office.task(taskId)).toMatchObject({ status: 'passed' })
    if (!isDead) return
  }
})

test('every command in the background is reported, whether it ends or is lost', async () => {
  const office = await openOffice({
    shop: numbered((turn) =>
      turn % 2 === 0 ? { name: 'mcp__mxd__bash', input: { command: `test ${turn}`, background: true } } : wait,
    ),
  })
  await office.say('Go')
  await office.settle()
  office.machine.background.get(office.rootId)?.()
  await office.settle()
  await office.restart()
  await office.settle()
  const params = { projectId: office.projectId }
  const listed = await office.orchestrator().listProcesses({ params, ...none })

  const reports = (await messagesOf(office)).filter(({ source }) => source === 'background_complete')
  expect(reports).toMatchObject([
    { command: 'test 0', exitCode: 0 },
    { command: 'test 2', exitCode: null },
  ])
  expect(listed).toMatchObject([{ command: 'test 4' }])
})

test('every question is put before a person and answered, over restarts', async () => {
  const office = await openOffice({
    shop: numbered((turn) =>
      turn < 2 ? { name: loopTools.clarify, input: { question: `Question ${turn}?` } } : finish,
    ),
  })
  await office.say('Go')
  await office.settle()
  for (const turn of [0, 1]) {
    await office.restart()
    await office.settle()
    const [question] = await office.orchestrator().listAttention({ params: {}, ...none })
    expect(question).toMatchObject({ kind: 'question', text: `Question ${turn}?` })
    const params = { projectId: office.projectId, questionId: question?.id ?? '' }
    await office.orchestrator().answerQuestion({ params, query: {}, body: { answer: `Answer ${turn}.` } })
    await office.settle()
  }

  expect(office.machine.requests.at(-1)?.text).toContain('Answer 1.')
  expect(await office.task()).toMatchObject({ status: 'passed' })
})

test('a question that a crash kept from being asked is asked after it, also the second one', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await openOffice({
      shop: numbered((turn) =>
        turn < 2 ? { name: loopTools.clarify, input: { question: `Question ${turn}?` } } : finish,
      ),
    })
    await office.say('Go')
    await office.settle()
    const params = { projectId: office.projectId }
    const [first] = await office.orchestrator().listAttention({ params: {}, ...none })
    let isAnswered = false
    const isDead = await office.dieWithin(steps, async () => {
      const to = { ...params, questionId: first?.id ?? '' }
      await office.orchestrator().answerQuestion({ params: to, query: {}, body: { answer: 'Yes.' } })
      isAnswered = true
    })
    if (isDead) await office.restart()
    await office.settle()

    const open = await office.orchestrator().listAttention({ params: {}, ...none })
    if (isAnswered) expect(open, `after ${steps} steps`).toMatchObject([{ text: 'Question 1?' }])
    if (!isDead) return
  }
})

async function messagesOf(office: Office, taskId?: string): Promise<QueueMessage[]> {
  return (await office.events(taskId)).flatMap((event: DurableEvent) =>
    event.type === 'message' ? [event.message] : [],
  )
}
