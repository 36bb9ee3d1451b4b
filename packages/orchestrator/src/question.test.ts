import { loopTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const asks: Script = ({ heard }) =>
  heard.includes('Answer to your question')
    ? { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Known.' } }] }
    : { calls: [{ name: loopTools.clarify, input: { question: 'Which colour?', options: ['red', 'blue'] } }] }

test('a question waits for a person over a restart, and the answer is heard', async () => {
  const office = await openOffice({ shop: asks })
  await office.say('Paint it')
  await office.settle()
  const calls = office.machine.modelCalls()
  await office.restart()
  await office.settle()
  const [question] = await open(office)
  expect(question).toMatchObject({ kind: 'question', text: 'Which colour?', options: ['red', 'blue'] })
  expect(office.machine.modelCalls()).toBe(calls)

  await answer(office, question?.id ?? '', 'blue')
  await office.settle()
  expect(office.machine.requests.at(-1)?.text).toContain('blue')
  expect(await office.task()).toMatchObject({ status: 'passed' })
  expect(await open(office)).toEqual([])
})

test('a question is answered once', async () => {
  const office = await openOffice({ shop: asks })
  await office.say('Paint it')
  await office.settle()
  const [question] = await open(office)
  const answers = [answer(office, question?.id ?? '', 'blue'), answer(office, question?.id ?? '', 'red')]
  await Promise.allSettled(answers)
  await office.settle()

  const stored = (await office.events()).filter(({ type }) => type === 'clarification_answered')
  expect(stored).toMatchObject([{ answer: 'blue' }])
  await expect(answer(office, question?.id ?? '', 'green')).rejects.toMatchObject({ code: 'QUESTION_UNKNOWN' })
})

test('a question that nobody answers in time is answered so, also when a restart comes in between', async () => {
  const office = await openOffice({ shop: asks }, { settings: { clarifyTimeoutMs: 60_000 } })
  await office.say('Paint it')
  await office.settle()

  expect(office.machine.requests.at(-1)?.text).toContain('Nobody answered in time')
  expect((await office.events()).find(({ type }) => type === 'clarification_answered')).toMatchObject({ by: 'timeout' })
})

test('an approval lets a call run, a refusal is heard by the model, and a stop ends the question', async () => {
  const office = await openOffice({
    shop: ({ calls }) => ({
      calls: [{ name: 'mcp__mxd__bash', input: { command: `ask ${calls.length}` } }],
    }),
  })
  await office.say('Go')
  await office.settle()
  const decide = async (decision: 'allow' | 'deny') => {
    const [asked] = (await open(office)).filter(({ kind }) => kind === 'approval')
    const inputDigest = asked?.approval?.inputDigest ?? ''
    await office.orchestrator().answerApproval({
      params: { projectId: office.projectId, approvalId: asked?.id ?? '' },
      query: {},
      body: decision === 'deny' ? { decision } : { decision, scope: 'once', inputDigest },
    })
    await office.settle()
  }
  await decide('allow')
  await decide('deny')
  expect((await office.results()).slice(0, 2)).toEqual(['did: ask 0', 'denied'])
  expect(office.machine.outside.effects).toHaveLength(1)

  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  expect(await open(office)).toEqual([])
  expect(office.machine.outside.effects).toHaveLength(1)
})

test('approving other arguments than those that are asked for is refused', async () => {
  const office = await openOffice({ shop: () => ({ calls: [{ name: 'mcp__mxd__bash', input: { command: 'ask' } }] }) })
  await office.say('Go')
  await office.settle()
  const [asked] = await open(office)

  await expect(
    office.orchestrator().answerApproval({
      params: { projectId: office.projectId, approvalId: asked?.id ?? '' },
      query: {},
      body: { decision: 'allow', scope: 'once', inputDigest: 'another' },
    }),
  ).rejects.toMatchObject({ code: 'APPROVAL_UNKNOWN' })
  expect(office.machine.outside.effects).toEqual([])
})

function open(office: Office) {
  return office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
}

function answer(office: Office, questionId: string, text: string) {
  const params = { projectId: office.projectId, questionId }
  return office.orchestrator().answerQuestion({ params, query: {}, body: { answer: text } })
}
