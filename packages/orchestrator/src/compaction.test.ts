import { findPendingMessages } from '@matrix/event-store'
import { checkRequest } from '@matrix/mock-provider'
import { loopTools, orchestratorTools } from '@matrix/protocol'
import { checkpointSections } from '@matrix/provider-loop'
import { expect, test } from 'vitest'
import { openOffice, type Script } from './simulation/office.testing.ts'

const summary = `<summary>${checkpointSections.map((section) => `## ${section}\nAs before.`).join('\n')}</summary>`
const wait = { calls: [{ name: loopTools.yield }] }
const summarises: Script = ({ last }) =>
  last.includes('<summary>') ? { text: summary } : { calls: [{ name: loopTools.yield }] }

test('wherever the process dies in a compaction, no message is lost or heard twice, and the summary is written once', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await openOffice({ shop: summarises })
    await office.say('Remember the milk')
    await office.settle()
    const params = { projectId: office.projectId, taskId: office.rootId }
    const isDead = await office.dieWithin(
      steps,
      async () => {
        await office.orchestrator().compactAgent({ params, query: {}, body: undefined })
        await office.say('And the bread', { requestId: 'r1' })
      },
      steps % 2 === 0 ? 'kill' : 'power',
    )
    if (isDead) await office.restart()
    await office.say('And the bread', { requestId: 'r1' })
    await office.say('What was it?')
    await office.settle()

    const events = await office.events()
    const read = events.flatMap((event) => (event.type === 'messages_consumed' ? event.messageIds : []))
    const said = events.flatMap((event) => (event.type === 'message' ? [event.message.id] : []))
    expect(read.toSorted(), `after ${steps} steps`).toEqual([...new Set(said)].toSorted())
    expect(findPendingMessages(events)).toEqual([])
    expect(events.filter(({ type }) => type === 'compact_marker').length).toBeLessThanOrEqual(1)
    const last = office.machine.requests.at(-1)?.text ?? ''
    for (const words of ['Remember the milk', 'And the bread', 'What was it?']) expect(last).toContain(words)
    checkRequest('anthropic', { model: 'm', max_tokens: 1, messages: JSON.parse(`[${last}]`), tools: [] })
    if (!isDead) return
  }
})

test('an agent that was compacted while it waited only waits after a restart, and goes on with the next message', async () => {
  const office = await openOffice({ shop: summarises })
  await office.say('Remember the milk')
  await office.settle()
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().compactAgent({ params, query: {}, body: undefined })
  await office.settle()
  const calls = office.machine.modelCalls()

  expect(await office.restart()).toMatchObject({ waiting: 1, continued: 0 })
  await office.settle()
  expect(office.machine.modelCalls()).toBe(calls)
  await office.say('What was it?')
  await office.settle()
  expect(office.machine.requests.at(-1)?.text).toContain('Remember the milk')
})

test('slash commands work as messages: they are run, an unknown one is refused, and two slashes are words', async () => {
  const office = await openOffice({ shop: summarises })
  await office.say('Remember the milk')
  await office.settle()
  await office.say('/compact')
  await office.settle()
  expect((await office.events()).filter(({ type }) => type === 'compact_marker')).toHaveLength(1)
  await office.say('/budget 5')
  expect(await office.task()).toMatchObject({ budgetUsd: 5 })
  await office.say('/stop')
  expect(await office.task()).toMatchObject({ activity: 'stopped' })
  await expect(office.say('/nonsense')).rejects.toThrow('There is no command /nonsense')
  await office.say('//compact is what I mean')
  await office.settle()

  expect(office.machine.requests.at(-1)?.text).toContain('"/compact is what I mean"')
})

test('an agent has a sub task compacted with /compact, and nobody else', async () => {
  const office = await openOffice({
    shop({ calls, last }) {
      const taskId = /Compact (\w{26})/.exec(last)?.[1]
      if (!taskId || calls.at(-1)?.input.taskId === taskId) return wait
      return { calls: [{ name: orchestratorTools.sendMessage, input: { taskId, content: '/compact' } }] }
    },
    Part: summarises,
  })
  const taskId = await office.create('Part')
  await office.say('Go', { taskId })
  await office.say(`Compact ${taskId}`)
  await office.settle()
  await office.say(`Compact ${office.rootId}`)
  await office.settle()

  expect((await office.events(taskId)).filter(({ type }) => type === 'compact_marker')).toHaveLength(1)
  expect((await office.events()).filter(({ type }) => type === 'compact_marker')).toEqual([])
})
