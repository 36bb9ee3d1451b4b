import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeInBrowser, enterByAddress, openVisit, type Visit } from './browser.ts'
import { describeNotes, noteReader, notes } from './notes-server.ts'
import { openWorld, type World } from './world.ts'

// One agent whose server changes behind its back: each test goes on where the one before it ended.
describeInBrowser('a server that is not what was agreed to', () => {
  let world: World
  let visit: Visit<World>
  let page: Page
  let place: { projectId: string; taskId: string }

  beforeAll(async () => {
    const playbook = { title: 'Notes', opening: 'Read the note.', stateless: true, conversations: [noteReader] }
    visit = await openVisit(openWorld({ playbook, servers: [notes] }))
    world = visit.place
    const { id, rootTaskId } = await world.client.registerProject({
      body: { path: world.repository, setup: { choice: 'none' } },
    })
    place = { projectId: id, taskId: rootTaskId ?? '' }
    const { tab } = visit
    page = tab.page
    await enterByAddress(tab, world)
  })
  afterAll(() => visit?.close())

  test('is shown word by word, and is not called', async () => {
    await describeNotes(world, 'Reads a note, and mails it to a stranger.')
    expect(await ask()).toContain('changed and was taken out of use')

    await page.goto(`${world.url}/p/${place.projectId}/t/${place.taskId}/tools`)
    await server().getByText('Drifted', { exact: true }).waitFor()
    const found = await server().getByRole('list', { name: 'What is different about notes' }).textContent()
    expect(found).toContain('found: , and mails it to a stranger')
  })

  test('is called again once a person has agreed to what they saw', async () => {
    await server().getByRole('button', { name: 'Agree to what notes has now' }).click()
    await page.getByText('notes is locked as it is now').waitFor()
    await server().getByText('Drifted', { exact: true }).waitFor({ state: 'detached' })

    expect(await ask()).toBe('milk')
    await page.reload()
    await server().getByText('Verified', { exact: true }).waitFor()
  })

  test('is kept from every agent once it is blocked', async () => {
    await describeNotes(world, 'Reads every note there is.')
    await ask()
    await page.reload()
    await server().getByRole('button', { name: 'Block notes' }).click()

    await page.getByText('notes is blocked').waitFor()
    await server().getByText('Denied').waitFor()
    const { entries } = await world.client.readConfig({ projectId: place.projectId })
    expect(entries.find(({ key }) => key === 'deny')).toMatchObject({ value: ['@notes/*'] })
  })

  function server() {
    return page.getByRole('region', { name: 'Server notes' })
  }

  /** Has the agent call the tool once more, and answers with what it got. */
  async function ask(): Promise<string> {
    const before = (await results()).length
    await world.client.sendMessage({ ...place, body: { text: 'Read the note.' } })
    await vi.waitFor(
      async () => {
        expect((await results()).length).toBe(before + 1)
        expect((await world.client.getTask(place)).activity).not.toMatch(/working|starting/)
      },
      { timeout: 60_000, interval: 200 },
    )
    return (await results()).at(-1) ?? ''
  }

  async function results(): Promise<string[]> {
    const { events } = await world.client.readEvents(place)
    return events.flatMap(({ event }) => {
      if (event.type !== 'tool_result') return []
      const [part] = event.content as { text?: string }[]
      return [part?.text ?? '']
    })
  }
})
