import { loopTools, orchestratorTools } from '@matrix/protocol'
import { expect, test } from 'vitest'
import { type Office, openOffice, type Script } from './simulation/office.testing.ts'

const wait = { calls: [{ name: loopTools.yield }] }

test('a message to another project is heard there once, wherever the process dies on the way', async () => {
  for (let steps = 1; ; steps += 1) {
    const { office, gardenId } = await openTwo()
    const tell = () => office.say('Tell the others', { requestId: 'r1' })
    const isDead = await office.dieWithin(steps, tell, steps % 2 === 0 ? 'kill' : 'power')
    if (isDead) await office.restart()
    await tell()
    await office.settle()

    const heard = (await office.events(gardenId)).flatMap((event) => (event.type === 'message' ? [event.message] : []))
    expect(heard, `after ${steps} steps`).toMatchObject([
      { source: 'cross_project', fromProject: 'shop', content: 'The gate is open.' },
    ])
    const read = (await office.events(gardenId)).flatMap((event) =>
      event.type === 'messages_consumed' ? event.messageIds : [],
    )
    expect(read).toEqual(heard.map(({ id }) => id))
    expect(await office.results()).toContain('Sent.')
    if (!isDead) return
  }
})

test('an agent sees the other projects, and writing to one that is not there is said', async () => {
  const office = await openOffice({
    shop: ({ calls }) =>
      calls.length > 0
        ? wait
        : {
            calls: [
              { name: orchestratorTools.listProjects },
              { name: orchestratorTools.sendMessageToProject, input: { projectId: 'nowhere', content: 'Hello?' } },
            ],
          },
  })
  const { projectId } = await office.register('/garden')
  await office.say('Look around')
  await office.settle()

  expect((await office.results()).toSorted()).toEqual([
    `${projectId}  garden`,
    expect.stringContaining('There is no project nowhere'),
  ])
})

/** A shop whose agent tells the garden next door something. */
async function openTwo(): Promise<{ office: Office; gardenId: string }> {
  let garden = { projectId: '', rootId: '' }
  const shop: Script = ({ calls }) =>
    calls.length > 0
      ? wait
      : {
          calls: [
            {
              name: orchestratorTools.sendMessageToProject,
              input: { projectId: garden.projectId, content: 'The gate is open.' },
            },
          ],
        }
  const office = await openOffice({ shop, garden: () => wait })
  garden = await office.register('/garden')
  await office.approveMessages(garden.projectId)
  return { office, gardenId: garden.rootId }
}
