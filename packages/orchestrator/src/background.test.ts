import { loopTools } from '@matrix/protocol'
import { checkpointSections } from '@matrix/provider-loop'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'
import type { AgentTools } from './tool-host.ts'

const none = { query: {}, body: undefined }
const starts: Script = ({ calls }) =>
  calls.length === 0
    ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'npm test', background: true } }] }
    : { calls: [{ name: loopTools.yield }] }

const summary = `<summary>${checkpointSections.map((section) => `## ${section}\nAs before.`).join('\n')}</summary>`

test('a command in the background reports when it ends, and wakes its agent', async () => {
  const office = await openOffice({ shop: starts })
  await office.say('Go')
  await office.settle()
  const calls = office.machine.modelCalls()
  office.machine.background.get(office.rootId)?.()
  await office.settle()

  expect(office.machine.modelCalls()).toBe(calls + 1)
  expect(office.machine.requests.at(-1)?.text).toContain('all green')
})

test('a command that ended with its process is reported once after the restart', async () => {
  const office = await openOffice({ shop: starts })
  await office.say('Go')
  await office.settle()
  await office.restart()
  await office.settle()
  await office.restart()
  await office.settle()

  const reports = (await office.events()).filter(
    (event) => event.type === 'message' && event.message.source === 'background_complete',
  )
  expect(reports).toHaveLength(1)
  expect(office.machine.requests.at(-1)?.text).toContain('started anew')
})

test('a command that was ended with its agent, because a person stopped it, is reported when the agent goes on', async () => {
  const office = await openOffice({ shop: starts })
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.say('Go')
  await office.settle()
  await office.orchestrator().stopAgent({ params, ...none })
  const listed = await office.orchestrator().listProcesses({ params, ...none })
  await office.orchestrator().resumeAgent({ params, ...none })
  await office.settle()

  expect(listed).toEqual([])
  expect(office.machine.requests.at(-1)?.text).toContain('How it ended is not known')
})

test('a change of settings ends no command; its agent takes them when the command has ended', async () => {
  const { office, launches } = await officeThatCounts(starts)
  await office.say('Go')
  await office.settle()
  await setMaxTurns(office)
  const listed = await office.orchestrator().listProcesses({ params: { projectId: office.projectId }, ...none })
  office.machine.background.get(office.rootId)?.()
  await office.settle()

  expect(listed).toMatchObject([{ command: 'npm test', isRunning: true }])
  expect(office.machine.requests.at(-1)?.text).toContain('all green')
  expect(launches()).toBe(2)
})

test('an agent that cannot go on takes new settings at once, and is told of the command that ended with it', async () => {
  let hasKey = true
  const { office } = await officeThatCounts((said) => {
    if (!hasKey) throw Object.assign(new Error('401 no such key'), { status: 401 })
    return starts(said)
  })
  await office.say('Go')
  await office.settle()
  hasKey = false
  await office.say('Are you there?')
  await office.settle()
  hasKey = true
  await setMaxTurns(office)
  await office.say('Go on')
  await office.settle()

  expect(office.machine.requests.at(-1)?.text).toContain('How it ended is not known')
})

test('an agent that worked when settings changed takes them once it waits', async () => {
  const { office, launches } = await officeThatCounts(({ calls }) =>
    calls.length === 0
      ? { calls: [{ name: 'mcp__mxd__bash', input: { command: 'ask' } }] }
      : { calls: [{ name: loopTools.yield }] },
  )
  await office.say('Go')
  await office.settle()
  await setMaxTurns(office)
  office.machine.expire()
  await office.settle()
  await office.say('And now?')
  await office.settle()

  expect(launches()).toBe(2)
})

test('whoever was forked from an agent is not told of the commands that run for that one', async () => {
  const office = await openOffice({ shop: starts })
  const taskId = await office.create('Part')
  await office.say('Go')
  await office.settle()
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().forkTask({ params, query: {}, body: { targetTaskId: taskId } })
  await office.say('Now you.', { taskId })
  await office.settle()

  const told = (await office.events(taskId)).flatMap((event) =>
    event.type === 'message' ? [event.message.source] : [],
  )
  expect(told).not.toContain('background_complete')
})

test('a command from before a compaction is reported too when its process ended with Matrix', async () => {
  const office = await openOffice({
    shop: (said) => (said.last.includes('<summary>') ? { text: summary } : starts(said)),
  })
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.say('Go')
  await office.settle()
  await office.orchestrator().compactAgent({ params, query: {}, body: undefined })
  await office.settle()
  await office.restart()
  await office.settle()

  const reports = (await office.events()).flatMap((event) =>
    event.type === 'message' && event.message.source === 'background_complete' ? [event.message.command] : [],
  )
  expect((await office.events()).map(({ type }) => type)).toContain('compact_marker')
  expect(reports).toEqual(['npm test'])
  expect(office.machine.requests.at(-1)?.text).toContain('started anew')
})

test.each([
  ['waits for anybody', { name: loopTools.yield }, 1],
  ['waits for a person to answer', { name: loopTools.clarify, input: { question: 'Which one?' } }, 0],
])('who was summed up and then %s hears of a lost command, and is woken as one who does', async (_, next, wakes) => {
  const office = await openOffice({
    shop: (said) => {
      if (said.last.includes('<summary>')) return { text: summary }
      return said.last.includes('And now?') ? { calls: [next] } : starts(said)
    },
  })
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.say('Go')
  await office.settle()
  await office.orchestrator().compactAgent({ params, query: {}, body: undefined })
  await office.settle()
  await office.say('And now?')
  await office.settle()
  const calls = office.machine.modelCalls()
  await office.restart()
  await office.settle()

  const told = (await office.events()).filter(
    (event) => event.type === 'message' && event.message.source === 'background_complete',
  )
  expect(told).toHaveLength(1)
  expect(office.machine.modelCalls() - calls).toBe(wakes)
})

test('a session damaged before its summary blocks its own task, and who lost a command elsewhere is told all the same', async () => {
  const script: Script = (said) => {
    if (said.last.includes('<summary>')) return { text: summary }
    return said.last.includes('Wait') ? { calls: [{ name: loopTools.yield }] } : starts(said)
  }
  const office = await openOffice({ shop: script, Part: script })
  const { projectId, rootId } = office
  const partId = await office.create('Part')
  for (const taskId of [rootId, partId]) {
    await office.say('Go', { taskId })
    await office.settle()
    await office.orchestrator().compactAgent({ params: { projectId, taskId }, query: {}, body: undefined })
    await office.settle()
    await office.say('Wait', { taskId })
    await office.settle()
  }
  office.machine.damage(rootId, (text) => text.replace('npm test', 'npm tesT'))
  await office.restart()
  await office.settle()

  expect(await office.task(rootId)).toMatchObject({ activity: 'blocked', problem: { code: 'SESSION_CORRUPT' } })
  const told = (await office.events(partId)).filter(
    (event) => event.type === 'message' && event.message.source === 'background_complete',
  )
  expect(told).toHaveLength(1)
})

test('an end that cannot be written down is put before a person, and told to the agent when it starts again', async () => {
  const office = await openOffice({ shop: starts })
  await office.say('Go')
  await office.settle()
  office.machine.disk.setCapacity(0)
  office.machine.background.get(office.rootId)?.()
  await office.settle()
  const [waiting] = await office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
  office.machine.disk.setCapacity(Number.POSITIVE_INFINITY)
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().stopAgent({ params, query: {}, body: undefined })
  await office.orchestrator().resumeAgent({ params, query: {}, body: undefined })
  await office.settle()

  expect(waiting).toMatchObject({ kind: 'failure', taskId: office.rootId })
  expect(office.machine.requests.at(-1)?.text).toContain('could not be written down')
})

/** An office that knows how often an agent was launched. */
async function officeThatCounts(shop: Script): Promise<{ office: Office; launches(): number }> {
  let launches = 0
  const tools = (each: AgentTools) => {
    launches += 1
    return each
  }
  return { office: await openOffice({ shop }, { planted: { tools } }), launches: () => launches }
}

function setMaxTurns(office: Office) {
  const params = { layer: 'local' as const, key: 'maxTurns' }
  return office.orchestrator().setConfig({ params, query: { projectId: office.projectId }, body: { value: 50 } })
}
