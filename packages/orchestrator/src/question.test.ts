import { loopTools } from '@matrix/protocol'
import { checkpointSections } from '@matrix/provider-loop'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const clarify = { name: loopTools.clarify, input: { question: 'Which colour?', options: ['red', 'blue'] } }
const done = { name: loopTools.done, input: { status: 'passed', summary: 'Known.' } }

const asks: Script = ({ heard, last }) => {
  if (last.includes('<summary>')) return { text: summary }
  return { calls: [heard.includes('Answer to your question') ? done : clarify] }
}

const asksBesideCommand: Script = (said) =>
  said.calls.length === 0
    ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'npm run watch', background: true } }] }
    : asks(said)

const summary = `<summary>${checkpointSections.map((section) => `## ${section}\nAs before.`).join('\n')}</summary>`

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

test('a question stays before the person when a restart has ended a command of the same agent, and no model is asked', async () => {
  const office = await openOffice({ shop: asksBesideCommand })
  await office.say('Paint it')
  await office.settle()
  const calls = office.machine.modelCalls()
  for (let kills = 0; kills < 2; kills += 1) {
    await office.restart()
    await office.settle()
    expect(await open(office)).toMatchObject([{ kind: 'question', text: 'Which colour?' }])
    expect(office.machine.modelCalls()).toBe(calls)
  }

  const [question] = await open(office)
  await answer(office, question?.id ?? '', 'blue')
  await office.settle()
  expect(office.machine.requests.at(-1)?.text).toContain('started anew')
  expect(await office.task()).toMatchObject({ status: 'passed' })
})

test('an agent that something else wakes while its question waits is told that the question still waits', async () => {
  const office = await openOffice({
    shop: ({ calls }) => (calls.length === 0 ? { calls: [clarify] } : { calls: [{ name: loopTools.yield }] }),
  })
  await office.say('Paint it')
  await office.settle()
  await office.say('By the way, it rains.')
  await office.settle()

  expect(await office.results()).toEqual([expect.stringContaining('question has no answer yet')])
  expect(await open(office)).toMatchObject([{ kind: 'question' }])
})

test('a question outlives a compaction and the restart after it', async () => {
  const office = await openOffice({ shop: asks })
  await office.say('Paint it')
  await office.settle()
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().compactAgent({ params, query: {}, body: undefined })
  await office.settle()
  await office.restart()
  await office.settle()

  expect(await open(office)).toMatchObject([{ kind: 'question', text: 'Which colour?' }])
})

test('a question that its agent no longer waited for when it ended is not asked again later', async () => {
  const office = await openOffice({
    shop: ({ calls, heard }) => {
      if (heard.includes('Thanks')) return { calls: [{ name: loopTools.yield }] }
      return calls.length === 0 ? { calls: [clarify] } : { calls: [done] }
    },
  })
  await office.say('Paint it')
  await office.settle()
  await office.say('Blue, of course.')
  await office.settle()
  expect(await office.task()).toMatchObject({ status: 'passed' })
  await office.say('Thanks')
  await office.settle()
  await office.restart()
  await office.settle()

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

test('a question that nobody answers in time does not wake an agent that a person stopped meanwhile', async () => {
  const office = await openOffice({ shop: asks }, { settings: { clarifyTimeoutMs: 60_000 } })
  await office.say('Paint it')
  while ((await open(office)).length === 0) await new Promise((resolve) => setImmediate(resolve))
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  await office.settle()

  expect(await office.task()).toMatchObject({ activity: 'stopped' })
  expect(office.machine.modelCalls()).toBe(1)
})

test('a clock that was set back does not make anybody wait longer for an answer', async () => {
  const office = await openOffice({ shop: asks }, { settings: { clarifyTimeoutMs: 60_000 } })
  await office.say('Paint it')
  while ((await open(office)).length === 0) await new Promise((resolve) => setImmediate(resolve))
  office.machine.jump(-24 * 3600 * 1000)
  await office.restart()
  const restartedAt = office.machine.now()
  await office.settle()

  expect((await office.events()).find(({ type }) => type === 'clarification_answered')).toMatchObject({ by: 'timeout' })
  expect(office.machine.now() - restartedAt).toBeLessThan(120_000)
})

test('an approval that nobody gives in time is gone, and the model is told', async () => {
  const office = await openOffice({
    shop: ({ calls }) => ({
      calls: [calls.length === 0 ? { name: 'mcp__mxd__bash', input: { command: 'ask' } } : { name: loopTools.yield }],
    }),
  })
  await office.say('Go')
  await office.settle()
  expect(await open(office)).toMatchObject([{ kind: 'approval' }])
  office.machine.expire()
  await office.settle()

  expect(await open(office)).toEqual([])
  expect(await office.results()).toEqual(['denied'])
  expect(office.machine.outside.effects).toEqual([])
})

test('an agent that waits for an approval is not said to work, and is again once it has one', async () => {
  const office = await openOffice({
    shop: ({ calls }) => ({ calls: [bash(calls.length === 0 ? 'ask' : 'hang')] }),
  })
  await office.say('Go')
  await office.settle()
  const [asked] = await open(office)
  expect(await office.task()).toMatchObject({ activity: 'waiting', needs: ['approval'] })
  expect(office.orchestrator().agents()).toEqual({ live: 1, working: 0 })

  await office.orchestrator().answerApproval({
    params: { projectId: office.projectId, approvalId: asked?.id ?? '' },
    query: {},
    body: { decision: 'allow', scope: 'once', inputDigest: asked?.approval?.inputDigest ?? '' },
  })
  await office.settle()
  expect(await office.task()).toMatchObject({ activity: 'working' })
  expect(office.orchestrator().agents()).toEqual({ live: 1, working: 1 })
})

test('a command that waits for an approval keeps no other command from running', async () => {
  const office = await openOffice(
    {
      shop: ({ calls }) => ({ calls: calls.length === 0 ? [bash('ask'), bash('build')] : [{ name: loopTools.yield }] }),
    },
    { settings: { maxConcurrentHeavyTools: 1 } },
  )
  await office.say('Go')
  await office.settle()

  expect(await open(office)).toMatchObject([{ kind: 'approval' }])
  expect(await office.results()).toEqual(['did: build'])
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

test('any arguments are refused where only the shown ones were offered', async () => {
  const office = await openOffice({ shop: () => ({ calls: [{ name: 'mcp__mxd__bash', input: { command: 'ask' } }] }) })
  await office.say('Go')
  await office.settle()
  const [asked] = await open(office)
  const inputDigest = asked?.approval?.inputDigest ?? ''

  await expect(
    office.orchestrator().answerApproval({
      params: { projectId: office.projectId, approvalId: asked?.id ?? '' },
      query: {},
      body: { decision: 'allow', scope: 'task', inputDigest, anyArguments: true },
    }),
  ).rejects.toMatchObject({ code: 'REQUEST_INVALID' })
  expect(office.machine.outside.effects).toEqual([])
})

function bash(command: string) {
  return { name: 'mcp__mxd__bash', input: { command } }
}

function open(office: Office) {
  return office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
}

function answer(office: Office, questionId: string, text: string) {
  const params = { projectId: office.projectId, questionId }
  return office.orchestrator().answerQuestion({ params, query: {}, body: { answer: text } })
}
