import { loopTools } from '@matrix/protocol'
import { isChanged } from '@matrix/protocol/display'
import { checkpointSections } from '@matrix/provider-loop'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const summary = `<summary>${checkpointSections.map((section) => `## ${section}\nAs before.`).join('\n')}</summary>`
const wait = { calls: [{ name: loopTools.yield }] }
const answers: Script = ({ last }) => (last.includes('<summary>') ? { text: summary } : wait)

test('a session keeps its model when the settings change, says so, and takes the new one when it is restarted', async () => {
  const office = await begin(answers)
  await office.say('Are you another one?')
  await office.settle()
  expect(await models(office)).toEqual(['claude-sonnet-4-6'])
  const before = await configuration(office)
  expect(before).toMatchObject({
    current: { model: 'claude-sonnet-4-6' },
    offered: { model: 'other' },
    isRequested: false,
  })
  expect(before.changes).toMatchObject({ model: true, prompt: false, addedTools: [], changedTools: [] })
  expect(before.cache.tokens).toBeGreaterThan(0)

  expect(await restart(office)).toMatchObject({ isRequested: true })
  const calls = office.machine.modelCalls()
  await office.settle()
  expect(office.machine.modelCalls()).toBe(calls)
  await office.say('And now?')
  await office.settle()
  expect(await models(office)).toEqual(['claude-sonnet-4-6', 'other'])
  expect(isChanged(await configuration(office))).toBe(false)
  expectPrefixes(office)
})

test('a compaction takes the configuration of now', async () => {
  const office = await begin(answers)
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().compactAgent({ params, query: {}, body: undefined })
  await office.settle()
  await office.say('And now?')
  await office.settle()

  expect(await models(office)).toEqual(['claude-sonnet-4-6', 'other'])
  expect(isChanged(await configuration(office))).toBe(false)
})

test('an agent at work takes it when it rests, or at once when that is asked for', async () => {
  for (const now of [false, true]) {
    let mayRest = false
    const office = await begin(({ calls, last }) =>
      last.includes('Work') || (calls.length > 1 && !mayRest)
        ? { calls: [{ name: 'mcp__mxd__bash', input: { command: calls.length > 1 ? 'hang' : 'step' } }] }
        : wait,
    )
    await office.say('Work')
    await office.settle()
    expect(await office.task()).toMatchObject({ activity: 'working' })
    mayRest = true
    await restart(office, now)
    await office.settle()

    expect(await models(office)).toEqual(now ? ['claude-sonnet-4-6', 'other'] : ['claude-sonnet-4-6'])
    expectPrefixes(office)
  }
})

test('wherever the process dies, a session that was restarted takes the new model once, and forgets nothing', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await begin(answers)
    let isAccepted = false
    const isDead = await office.dieWithin(
      steps,
      async () => {
        await restart(office)
        isAccepted = true
        await office.say('And now?', { requestId: 'r1' })
      },
      steps % 2 === 0 ? 'kill' : 'power',
    )
    if (isDead) await office.restart()
    await office.settle()
    await office.say('And now?', { requestId: 'r1' })
    await office.settle()

    const seen = await models(office)
    if (isAccepted) expect(seen, `after ${steps} steps`).toEqual(['claude-sonnet-4-6', 'other'])
    expect(office.machine.violations).toEqual([])
    expectPrefixes(office)
    if (!isDead) return
  }
})

test('the root is reset: its conversation begins anew, with the configuration of now', async () => {
  const office = await begin(answers)
  const params = { projectId: office.projectId, taskId: office.rootId }
  await office.orchestrator().resetTask({ params, query: {}, body: undefined })
  expect(await office.task()).toMatchObject({ status: 'pending', lastSeq: 0 })
  await office.say('Once more')
  await office.settle()

  expect(await models(office)).toEqual(['other'])
  expect(office.machine.requests.at(-1)?.text).not.toContain('Hello')
  expect(await office.restart()).toMatchObject({ problems: [] })
})

/** An agent that has spoken with one model, and settings that name another. */
async function begin(script: Script): Promise<Office> {
  const office = await openOffice({ shop: script })
  await office.say('Hello')
  await office.settle()
  const params = { layer: 'global' as const, key: 'model' }
  await office.orchestrator().setConfig({ params, query: {}, body: { value: 'other' } })
  await office.settle()
  return office
}

test('a restart that meets the end of a task leaves it ended', async () => {
  const done = { calls: [{ name: loopTools.done, input: { status: 'passed', summary: 'Done.' } }] }
  for (let turns = 0; turns < 60; turns += 1) {
    const office = await openOffice({ shop: ({ last }) => (last.includes('Finish') ? done : wait) })
    await office.say('Hello')
    await office.settle()
    await office.say('Finish')
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    await restart(office, true)
    await office.settle()

    const hasEnded = (await office.events()).some(({ type }) => type === 'orchestration_completed')
    if (hasEnded) expect(await office.task()).toMatchObject({ status: 'passed' })
  }
})

function configuration(office: Office) {
  const params = { projectId: office.projectId, taskId: office.rootId }
  return office.orchestrator().readConfiguration({ params, query: {}, body: undefined })
}

function restart(office: Office, now = false) {
  const params = { projectId: office.projectId, taskId: office.rootId }
  return office.orchestrator().restartAgent({ params, query: {}, body: { now } })
}

/** The models that the root has asked, in order. */
async function models(office: Office): Promise<string[]> {
  const turns = (await office.events()).flatMap((event) => (event.type === 'turn_completed' ? [event.model] : []))
  return turns.filter((model, index) => model !== turns[index - 1])
}

/** A change of the configuration changes nothing of what was said. */
function expectPrefixes(office: Office): void {
  const texts = office.machine.requests.map(({ text }) => JSON.parse(`[${text}]`) as unknown[])
  for (const [index, messages] of texts.entries()) {
    const before = texts[index - 1] ?? []
    expect(JSON.stringify(messages).slice(0, JSON.stringify(before).length - 2)).toBe(
      JSON.stringify(before).slice(0, -2),
    )
  }
}
