import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInBrowser, enterByAddress, openVisit, type Visit } from './browser.ts'
import { carpentryPlaybook } from './carpentry.ts'
import { openWorld, type World } from './world.ts'

// Somebody who looks elsewhere while an agent works: each test goes on where the one before it ended.
describeInBrowser('being told', () => {
  let world: World
  let visit: Visit<World>
  let page: Page
  let projectId: string

  beforeAll(async () => {
    visit = await openVisit(openWorld({ files: { 'door.txt': 'the door is plain\n' }, playbook: carpentryPlaybook() }))
    world = visit.place
    const project = await world.client.registerProject({ body: { path: world.repository } })
    projectId = project.id
    const { tab } = visit
    page = tab.page
    await tab.context.grantPermissions(['notifications'], { origin: world.url })
    await page.addInitScript(keepNotes)
    await enterByAddress(tab, world)
  })
  afterAll(() => visit?.close())

  test('nobody is notified who has not asked for it', async () => {
    await page.getByRole('button', { name: 'Notify me' }).click()
    await page.getByText('You will be told').waitFor()

    expect(await notes()).toEqual([])
  })

  test('whoever looks at the page is not notified of what stands on it', async () => {
    const project = (await world.client.listProjects())[0]
    const body = { text: 'Paint the door.' }
    await world.client.sendMessage({ projectId, taskId: project?.rootTaskId ?? '', body })
    await page.getByRole('article', { name: /^Approval/ }).waitFor()

    expect(await notes()).toEqual([])
  })

  test('whoever looks elsewhere is notified of a question, and led to it', async () => {
    await page.evaluate(() => Object.assign(document, { hasFocus: () => false }))
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('article', { name: /^Question/ }).waitFor()
    expect(await notes()).toEqual(['A question: shop'])

    await page.getByRole('link', { name: 'Search' }).first().click()
    await clickNote()
    await page.getByText('Which colour?').waitFor()
  })

  test('finished work that conflicts is said to, with the files it is about', async () => {
    await writeFile(join(world.repository, 'door.txt'), 'the door has a lock\n')
    world.git('commit', '--quiet', '-am', 'a lock')
    await page.getByRole('button', { name: 'red' }).click()
    const conflict = page.getByRole('article', { name: 'Conflict: shop' })
    await conflict.getByText('door.txt').waitFor()

    expect((await notes()).at(-1)).toBe('A conflict: shop')
    await conflict.getByRole('link', { name: 'Look at the changes' }).click()
    await page.getByText('Would conflict with main in 1 file').waitFor()
    await page.goBack()
  })

  test('the agent resolves it when asked to, and the work is offered for review', async () => {
    await page.getByRole('button', { name: 'Ask the agent to resolve it' }).click()
    const review = page.getByRole('article', { name: 'Review: shop' })
    await review.getByText('ready to be merged into main').waitFor()
    expect((await notes()).at(-1)).toBe('Ready for review: shop')

    await clickNote()
    await page.getByText('Would merge').waitFor()
    await page.getByRole('button', { name: 'Squash', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Bring my own checkout along').check()
    await dialog.getByRole('button', { name: 'Squash and merge' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await readFile(join(world.repository, 'door.txt'), 'utf8')).toBe('the door is red and has a lock\n')
  })

  /** The titles of everything that was shown. */
  function notes(): Promise<string[]> {
    return page.evaluate(() => shownNotes().map(({ title }) => title))
  }

  async function clickNote(): Promise<void> {
    await page.evaluate(() => shownNotes().at(-1)?.dispatchEvent(new Event('click')))
  }
})

declare function shownNotes(): Notification[]

/** Remembers each real notification, since a browser without a screen shows them to nobody. */
function keepNotes(): void {
  const shown: Notification[] = []
  const Real = window.Notification
  window.Notification = class extends Real {
    constructor(title: string, options?: NotificationOptions) {
      super(title, options)
      shown.push(this)
    }
  }
  Object.assign(window, { shownNotes: () => shown })
}
