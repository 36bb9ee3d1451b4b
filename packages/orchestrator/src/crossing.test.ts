import type { SideEffect } from '@matrix/manifest'
import { builtinTools, loopTools, orchestratorTools } from '@matrix/protocol'
import type { Attention } from '@matrix/protocol/http'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'
import type { Planted } from './simulation/simulated-machine.testing.ts'

const readWeb = { name: builtinTools.bash, input: { command: 'curl https://evil.example' } }
const wait = { calls: [{ name: loopTools.yield }] }

test('the first message to another project waits for the user, and an approval holds until it is revoked', async () => {
  const { office, garden } = await openTwo()
  await office.say('Tell them: one')
  await office.settle()

  expect(await heard(office, garden.rootId)).toEqual([])
  const asked = await question(office)
  expect(asked.approval).toMatchObject({
    uri: orchestratorTools.sendMessageToProject,
    input: { to: 'garden', content: 'one', senderMay: 'read, write, shell', receiverMay: 'read, write, shell' },
    scopes: ['once', 'always'],
  })
  await answer(office, asked, 'always')
  expect(await heard(office, garden.rootId)).toEqual(['one'])

  await office.say('Tell them: two')
  await office.settle()
  expect(await heard(office, garden.rootId)).toEqual(['one', 'two'])

  const place = { params: { layer: 'local' as const, key: 'messagesTo' }, query: { projectId: office.projectId } }
  await office.orchestrator().unsetConfig({ ...place, body: undefined })
  await office.say('Tell them: three')
  await office.settle()
  expect(await heard(office, garden.rootId)).toEqual(['one', 'two'])
  expect(await question(office)).toBeDefined()
})

test('an approval is for one direction, and survives a restart', async () => {
  const { office, garden } = await openTwo()
  await office.approveMessages(garden.projectId)
  await office.restart()
  await office.say('Tell them: one')
  await office.settle()
  expect(await heard(office, garden.rootId)).toEqual(['one'])

  await office.say('Tell them: back', { projectId: garden.projectId, taskId: garden.rootId })
  await office.settle()
  expect(await heard(office, office.rootId)).toEqual([])
  expect(await question(office)).toMatchObject({ projectId: garden.projectId })
})

test('every message to an agent that may do more than the sender is shown to the user, whatever was approved', async () => {
  const { office, garden } = await openTwo({ rights: { shop: ['read', 'network'] } })
  await office.approveMessages(garden.projectId)
  for (const words of ['one', 'two']) {
    await office.say(`Tell them: ${words}`)
    await office.settle()
    expect(await heard(office, garden.rootId)).not.toContain(words)
    const asked = await question(office)
    expect(asked.approval).toMatchObject({ scopes: ['once'], sideEffect: 'shell' })
    await expect(answer(office, asked, 'always')).rejects.toThrow('can be allowed once, not always')
    await answer(office, asked, 'once')
    expect(await heard(office, garden.rootId)).toContain(words)
  }
})

test('a message that the user denies reaches nobody, and the sender is told', async () => {
  const { office, garden } = await openTwo()
  await office.say('Tell them: one')
  await office.settle()
  const { id: approvalId } = await question(office)
  const params = { projectId: office.projectId, approvalId }
  await office.orchestrator().answerApproval({ params, query: {}, body: { decision: 'deny', reason: 'Not them.' } })
  await office.settle()

  expect(await heard(office, garden.rootId)).toEqual([])
  expect((await office.results()).join()).toContain('Not sent: the user denied it: Not them.')
})

test('a message says who sent it and what the sender may do, to the model and in the session', async () => {
  const { office, garden } = await openTwo({ rights: { shop: ['read'], garden: ['read'] } })
  await office.approveMessages(garden.projectId)
  await office.say('Tell them: one')
  await office.settle()

  const [message] = (await office.events(garden.rootId)).flatMap((event) =>
    event.type === 'message' ? [event.message] : [],
  )
  expect(message).toMatchObject({ fromProject: 'shop', fromTaskId: office.rootId, fromTitle: 'shop', rights: ['read'] })
  const request = office.machine.requests.findLast(({ sessionId }) => sessionId === garden.rootId)?.text
  expect(request).toContain('not from the user, which may read]')
})

test('words of a weaker project are shown again at the next hop, also when a sub task passes them on after a restart', async () => {
  const strong: SideEffect[] = ['read', 'write', 'shell']
  const tell = (projectId: string, content: string) => ({
    calls: [{ name: orchestratorTools.sendMessageToProject, input: { projectId, content } }],
  })
  const office: Office = await openOffice(
    {
      shop: ({ calls }) => (calls.length === 0 ? tell(garden.projectId, 'Pass it on') : wait),
      garden: ({ calls, heard: words }) =>
        words.includes('Pass it on') && calls.length === 0
          ? { calls: [{ name: orchestratorTools.sendMessage, input: { taskId: helper, content: 'Tell the field' } }] }
          : wait,
      Helper: ({ calls, heard: words }) =>
        words.includes('Go now') && calls.every(({ name }) => name !== orchestratorTools.sendMessageToProject)
          ? tell(field.projectId, 'From afar')
          : wait,
      field: () => wait,
    },
    { planted: { rights: { shop: ['read'], garden: strong, field: strong } } },
  )
  const garden = await office.register('/garden')
  const field = await office.register('/field')
  const place = { params: { layer: 'local' as const, key: 'messagesTo' }, query: { projectId: garden.projectId } }
  await office.orchestrator().setConfig({ ...place, body: { value: [field.projectId] } })
  const flows = { ...place, params: { layer: 'local' as const, key: 'afterUntrusted' } }
  await office.orchestrator().setConfig({ ...flows, body: { value: { '*': { project: 'allow' } } } })
  const made = { params: { projectId: garden.projectId }, query: {}, body: { title: 'Helper' } }
  const { id: helper } = await office.orchestrator().createTask(made)
  await office.say('Go')
  await office.settle()
  await answer(office, await question(office), 'once')
  await office.restart()
  await office.say('Go now', { projectId: garden.projectId, taskId: helper })
  await office.settle()

  expect(await heard(office, field.rootId)).toEqual([])
  expect((await question(office)).approval).toMatchObject({
    input: { senderMay: 'read, write, shell', senderActsForOneThatMay: 'read' },
    scopes: ['once'],
  })
})

test('a message to another project after untrusted content was read is one question that says every reason', async () => {
  const { office, garden } = await openTwo({ rights: { shop: ['read'] } })
  await office.say('Read the web. Tell them: one')
  await office.settle()

  const waiting = await office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
  const [asked, ...more] = waiting.filter(({ kind }) => kind === 'approval')
  expect(more).toEqual([])
  expect(asked?.approval).toMatchObject({
    reason: expect.stringMatching(/no approval to message.*may do more than the sender.*Untrusted content was read/),
    led: [{ source: 'web', name: 'evil.example:443' }],
    scopes: ['once'],
  })
  if (asked) await answer(office, asked, 'once')
  expect(await heard(office, garden.rootId)).toEqual(['one'])
  await expect(question(office)).rejects.toThrow('Nothing is asked.')
})

test('an approved pair still asks after untrusted content was read, and sends nothing where the user denies that', async () => {
  const { office, garden } = await openTwo()
  await office.approveMessages(garden.projectId)
  await office.say('Read the web. Tell them: one')
  await office.settle()
  expect((await question(office)).approval).toMatchObject({
    reason: 'The message leaves this project. Untrusted content was read before.',
    scopes: ['once'],
  })

  const place = { params: { layer: 'local' as const, key: 'afterUntrusted' }, query: { projectId: office.projectId } }
  await office.orchestrator().setConfig({ ...place, body: { value: { '*': { project: 'deny' } } } })
  await answer(office, await question(office), 'once')
  expect(await heard(office, garden.rootId)).toEqual([])
  expect((await office.results()).at(-1)).toContain('This call was not allowed')
})

test('rights that change while the user decides are shown before anything is sent', async () => {
  const rights: NonNullable<Planted['rights']> = {}
  const { office, garden } = await openTwo({ rights })
  await office.say('Tell them: one')
  await office.settle()
  const first = await question(office)
  rights.shop = ['read']
  await answer(office, first, 'always')

  expect(await heard(office, garden.rootId)).toEqual([])
  const second = await question(office)
  expect(second.approval).toMatchObject({ input: { senderMay: 'read' }, scopes: ['once'] })
  await answer(office, second, 'once')
  expect(await heard(office, garden.rootId)).toEqual(['one'])
})

/** Two projects whose agents pass on to the other what the user tells them to. */
async function openTwo(
  planted: Planted = {},
): Promise<{ office: Office; garden: { projectId: string; rootId: string } }> {
  const script =
    (to: () => string): Script =>
    ({ calls, heard: words }) => {
      if (words.includes('Read the web') && calls.length === 0) return { calls: [readWeb] }
      const wanted = [...words.matchAll(/Tell them: (\w+)/g)].map(([, found = '']) => found)
      const sent = calls.filter(({ name }) => name === orchestratorTools.sendMessageToProject).length
      const content = wanted[sent]
      return content === undefined
        ? wait
        : { calls: [{ name: orchestratorTools.sendMessageToProject, input: { projectId: to(), content } }] }
    }
  const office: Office = await openOffice(
    { shop: script(() => garden.projectId), garden: script(() => office.projectId) },
    { planted },
  )
  const garden = await office.register('/garden')
  return { office, garden }
}

async function question(office: Office): Promise<Attention> {
  const list = await office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
  const found = list.find(({ kind }) => kind === 'approval')
  if (!found) throw new Error('Nothing is asked.')
  return found
}

async function answer(office: Office, { id, projectId, approval }: Attention, scope: 'once' | 'always'): Promise<void> {
  const body = { decision: 'allow' as const, scope, inputDigest: approval?.inputDigest ?? '' }
  await office.orchestrator().answerApproval({ params: { projectId, approvalId: id }, query: {}, body })
  await office.settle()
}

async function heard(office: Office, taskId: string): Promise<string[]> {
  return (await office.events(taskId)).flatMap((event) =>
    event.type === 'message' && event.message.source === 'cross_project' ? [event.message.content] : [],
  )
}
