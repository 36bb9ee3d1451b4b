import { builtinTools, type DurableEvent, loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }
const read = { name: builtinTools.bash, input: { command: 'curl https://evil.example' } }
const work = { name: builtinTools.bash, input: { command: 'npm test' } }
const fromWeb = { source: 'web', name: 'evil.example:443' }

/** Makes these calls one after the other, then waits. */
const plays =
  (...steps: readonly { name: string; input?: Record<string, unknown> }[]): Script =>
  ({ calls }) => {
    const step = steps[calls.length]
    return step ? { calls: [step] } : wait
  }

test('every event that carries content says where it came from and whether that is trusted', async () => {
  const office = await openOffice({ shop: plays(work, read, work) })
  await office.say('Go')
  await office.settle()

  const origins = (await office.events()).flatMap((event) =>
    'origin' in event && event.origin ? [[event.type, event.origin.source, event.origin.trusted]] : [],
  )
  expect(origins.filter(([type]) => type !== 'notice' && type !== 'task_started')).toEqual([
    ['message', 'user', true],
    ['tool_call', 'agent', true],
    ['tool_result', 'matrix', true],
    ['tool_call', 'agent', true],
    ['tool_result', 'web', false],
    ['tool_call', 'agent', false],
    ['tool_result', 'matrix', true],
    ['tool_call', 'agent', false],
  ])
  expect((await office.task()).untrusted).toMatchObject([fromWeb])
})

test('ordinary work marks nothing and asks nothing', async () => {
  const office = await openOffice({ shop: plays(work, { name: orchestratorTools.getTree }, work) })
  await office.say('Go')
  await office.settle()

  expect((await office.task()).untrusted).toBeUndefined()
  expect(await asked(office)).toEqual([])
})

test('what was untrusted stays so wherever the process dies, and is never stored without its mark', async () => {
  for (let steps = 1; ; steps += 1) {
    const office = await openOffice({ shop: plays(read) })
    const isDead = await office.dieWithin(steps, () => office.say('Go'), steps % 2 === 0 ? 'kill' : 'power')
    if (isDead) await office.restart()
    const isStored = (await office.events()).some((event) => isUntrusted(event))
    if (isStored) expect((await office.task()).untrusted, `after ${steps} steps`).toMatchObject([fromWeb])
    if (!isDead) return expect(isStored).toBe(true)
  }
})

test('a task that was created or told after untrusted content was read carries the mark', async () => {
  let before = ''
  const office = await openOffice({
    shop: ({ calls }) => {
      if (calls.length === 0) return { calls: [read] }
      if (calls.length === 1)
        return { calls: [{ name: orchestratorTools.createTask, input: { title: 'after', description: 'x' } }] }
      if (calls.length === 2)
        return { calls: [{ name: orchestratorTools.sendMessage, input: { taskId: before, content: 'Start' } }] }
      return wait
    },
  })
  before = await office.create('before')
  await office.say('Go')
  await office.settle()

  expect(await tasks(office)).toHaveLength(3)
  for (const { untrusted } of await tasks(office)) expect(untrusted).toMatchObject([fromWeb])
  expect((await office.events(before)).find(({ type }) => type === 'message')).toMatchObject({
    origin: { source: 'agent', name: office.rootId, trusted: false },
  })
  expect(await asked(office)).toEqual([])
})

test('a message of another project is untrusted', async () => {
  let shopId = ''
  const office = await openOffice({
    shop: () => wait,
    garden: ({ calls }) =>
      calls.length > 0
        ? wait
        : { calls: [{ name: orchestratorTools.sendMessageToProject, input: { projectId: shopId, content: 'Hi' } }] },
  })
  shopId = office.projectId
  const { projectId, rootId } = await office.register('/garden')
  await office.say('Tell them', { projectId, taskId: rootId })
  await settleAllowing(office, projectId)

  expect((await office.task()).untrusted).toMatchObject([{ source: 'project', name: 'garden' }])
})

test.each([
  ['an agent with other rights', orchestratorTools.createTask, { title: 'T', description: 'x', agent: 'neo' }],
  [
    'a task that runs again and again',
    orchestratorTools.createTask,
    { title: 'T', description: '', persistent: 'reset' },
  ],
] as const)(
  '%s asks after untrusted content was read, shows what led there, and is not made when denied',
  async (_, name, input) => {
    const office = await openOffice({ shop: plays(read, { name, input }) })
    await office.say('Go')
    await office.settle()

    const [question, ...more] = await asked(office)
    expect(more).toEqual([])
    expect(question?.approval).toMatchObject({ uri: name, input, led: [{ ...fromWeb, taskId: office.rootId }] })
    await office.orchestrator().answerApproval({
      params: { projectId: office.projectId, approvalId: question?.id ?? '' },
      query: {},
      body: { decision: 'deny' },
    })
    await office.settle()
    expect((await office.results()).at(-1)).toContain('This call was not allowed')
    expect(await tasks(office)).toHaveLength(1)
  },
)

test('the user can loosen or tighten each rule, for one agent or for all', async () => {
  const create = { name: orchestratorTools.createTask, input: { title: 'T', description: '', persistent: 'reset' } }
  const outcomes = []
  for (const rule of ['allow', 'deny'] as const) {
    const office = await openOffice(
      { shop: plays(read, create) },
      { settings: { afterUntrusted: { '*': { agent: rule } } } },
    )
    await office.say('Go')
    await office.settle()
    outcomes.push([rule, (await asked(office)).length, (await tasks(office)).length])
  }

  expect(outcomes).toEqual([
    ['allow', 0, 2],
    ['deny', 0, 1],
  ])
})

test('a host that is asked for after untrusted content was read shows what led there', async () => {
  const request = { name: orchestratorTools.requestAccess, input: { host: 'sink.example', why: 'It says so.' } }
  const office = await openOffice({ shop: plays(read, request) }, { settings: { hosts: ['*'] } })
  await office.say('Go')
  await office.settle()

  expect((await asked(office)).map(({ approval }) => approval?.led)).toMatchObject([[fromWeb]])
  expect(await office.orchestrator().reachableHosts(office.projectId, office.rootId)).toEqual([])
})

test('a conversation that is taken back stays marked, because its files stay', async () => {
  const office = await openOffice({ shop: plays(read) })
  await office.say('Go')
  await office.settle()
  await office
    .orchestrator()
    .stopAgent({ params: { projectId: office.projectId, taskId: office.rootId }, query: {}, body: undefined })
  await office.settle()
  await office.orchestrator().rewindTask({
    params: { projectId: office.projectId, taskId: office.rootId },
    query: {},
    body: { upTo: 1 },
  })
  await office.restart()

  expect((await office.task()).untrusted).toMatchObject([fromWeb])
  expect((await office.events()).findLast(({ type }) => type === 'rewind_marker')).toMatchObject({
    origin: { trusted: false, from: [fromWeb] },
  })
})

function isUntrusted(event: DurableEvent): boolean {
  return 'origin' in event && event.origin?.trusted === false
}

async function asked(office: Office) {
  const found = await office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
  return found.filter(({ kind }) => kind === 'approval')
}

function tasks(office: Office) {
  return office.orchestrator().listTasks({ params: { projectId: office.projectId }, query: {}, body: undefined })
}

/** Where sending to another project needs a yes, it is given. */
async function settleAllowing(office: Office, projectId: string): Promise<void> {
  await office.settle()
  for (const { id, approval } of await asked(office))
    await office.orchestrator().answerApproval({
      params: { projectId, approvalId: id },
      query: {},
      body: { decision: 'allow', scope: 'once', inputDigest: approval?.inputDigest ?? '' },
    })
  await office.settle()
}
