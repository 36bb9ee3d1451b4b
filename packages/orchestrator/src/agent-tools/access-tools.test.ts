import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { parseHostEntry } from '../host-access.ts'
import { type Office, openOffice, type Script } from '../simulation/office.testing.ts'

const request = (host: string) => ({
  name: orchestratorTools.requestAccess,
  input: { host, why: 'It has the schema.' },
})
const done = { name: loopTools.done, input: { status: 'passed', summary: 'Fetched.' } }
const asksOnce: Script = ({ calls }) => ({ calls: [calls.length === 0 ? request('https://api.example.com/v1') : done] })

test.each([
  ['once', 'for 10 minutes'],
  ['task', 'for this task'],
  ['always', 'for this project'],
] as const)('a host that is allowed "%s" is allowed %s, and the agent hears it', async (scope, words) => {
  const office = await openOffice({ shop: asksOnce })
  await office.say('Go')
  await office.settle()
  expect(await office.task()).toMatchObject({ activity: 'waiting', needs: ['approval'] })
  expect(await open(office)).toMatchObject([
    {
      kind: 'approval',
      text: 'Wants to reach api.example.com: It has the schema.',
      approval: { host: 'api.example.com' },
    },
  ])
  await decide(office, { scope })

  expect((await office.results())[0]).toBe(`api.example.com is allowed ${words}. Run the command again.`)
  expect(await office.task()).toMatchObject({ status: 'passed' })
})

test('a host that is denied is not asked for by anything but the agent, which hears why', async () => {
  const office = await openOffice({ shop: asksOnce })
  await office.say('Go')
  await office.settle()
  await decide(office, { reason: 'Use the copy in the repository.' })

  expect((await office.results())[0]).toMatch(/^api\.example\.com was denied: Use the copy in the repository\./)
})

test.each(['kill', 'power'] as const)(
  'what waits for an answer waits again after a crash (%s), and costs no turn',
  async (how) => {
    const office = await openOffice({ shop: asksOnce })
    await office.say('Go')
    await office.settle()
    const turns = office.machine.modelCalls()
    const [before] = await open(office)
    await office.restart(how)
    await office.settle()
    const [after] = await open(office)
    expect(after).toMatchObject({ id: before?.id, approval: { inputDigest: before?.approval?.inputDigest } })
    expect(office.machine.modelCalls()).toBe(turns)
    await decide(office, { scope: 'task' })

    expect((await office.results())[0]).toMatch(/^api\.example\.com is allowed for this task/)
    expect(await office.task()).toMatchObject({ status: 'passed' })
  },
)

test('what is allowed already is not asked for, and what is no host is explained', async () => {
  const wanted = ['api.example.com', 'db.example.com:5432', 'a host', '*']
  const office = await openOffice(
    {
      shop: ({ calls }) => ({
        calls: [wanted[calls.length] === undefined ? done : request(wanted[calls.length] ?? '')],
      }),
    },
    { settings: { hosts: ['*.example.com', 'db.example.com:5432'] } },
  )
  await office.say('Go')
  await office.settle()

  expect((await office.results()).slice(0, 4)).toEqual([
    'api.example.com is allowed already.',
    'db.example.com:5432 is allowed already.',
    expect.stringContaining('a host is not a host'),
    expect.stringContaining('* is not a host'),
  ])
})

test.each([
  ['https://User:pass@API.example.com:8443/v1?x=y#z', 'api.example.com:8443'],
  ['registry.example.com.', 'registry.example.com'],
  ['*.example.com', '*.example.com'],
  ['10.0.0.1:5432', '10.0.0.1:5432'],
])('%s asks for %s', (text, host) => {
  expect(parseHostEntry(text)).toBe(host)
})

function open(office: Office) {
  return office.orchestrator().listAttention({ params: {}, query: {}, body: undefined })
}

async function decide(
  office: Office,
  answer: { scope: 'once' | 'task' | 'always' } | { reason: string },
): Promise<void> {
  const [asked] = (await open(office)).filter(({ kind }) => kind === 'approval')
  const inputDigest = asked?.approval?.inputDigest ?? ''
  await office.orchestrator().answerApproval({
    params: { projectId: office.projectId, approvalId: asked?.id ?? '' },
    query: {},
    body: 'scope' in answer ? { decision: 'allow', scope: answer.scope, inputDigest } : { decision: 'deny', ...answer },
  })
  await office.settle()
}
