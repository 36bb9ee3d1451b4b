import { execFileSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInBrowser, enterByAddress, openVisit, type Tab, type Visit } from './browser.ts'
import { type DemoWorld, openDemoWorld } from './world.ts'

/** The script thinks and types as slowly as a person can follow. */
const patience = { timeout: 60_000 }

// Somebody new, who only ever does what the page offers: each test goes on where the one before it ended.
describeInBrowser('the first visit', { timeout: 120_000 }, () => {
  let world: DemoWorld
  let visit: Visit<DemoWorld>
  let tab: Tab
  let page: Page

  beforeAll(async () => {
    visit = await openVisit(openDemoWorld())
    world = visit.place
    tab = visit.tab
    page = visit.page
  })
  afterAll(() => visit?.close())

  test('says what there is to see, and that its money is made up', async () => {
    await enterByAddress(tab, world)
    await tour().getByText('The model is a script and costs nothing').waitFor()
    await page.getByRole('region', { name: 'Projects' }).getByText('made up').waitFor()

    expect(await isCovered()).toBe(false)
  })

  test('an agent is watched while it works', async () => {
    await page.getByRole('navigation', { name: 'Tasks' }).getByRole('link', { name: 'Discounts' }).click(patience)
    await page.getByRole('log', { name: 'Conversation' }).getByText('First I look at how a line').waitFor(patience)

    await tour().getByText('Watch them work, done').waitFor()
  })

  test('a question is answered where the tour leads', async () => {
    await tour().getByText('Pick an answer in the inbox').waitFor(patience)
    await tour().getByRole('button', { name: 'Show me' }).click()
    await page.getByRole('button', { name: '€' }).click()

    await tour().getByText('Answer a question, done').waitFor()
  })

  test('two branches that collide are put together by their agents, without anybody', async () => {
    await tour().getByText('All of it is on one branch').waitFor({ timeout: 100_000 })

    const [project] = await world.client.listProjects()
    const tasks = await world.client.listTasks({ projectId: project?.id ?? '' })
    const tax = tasks.find(({ title }) => title === 'Tax')
    const { events } = await world.client.readEvents({ projectId: project?.id ?? '', taskId: tax?.id ?? '' })
    expect(JSON.stringify(events)).toContain('Your work conflicts with Discounts in src/tally.js')
  })

  test('what they made is read and merged, and the tour is over', async () => {
    await tour().getByRole('button', { name: 'Show me' }).click()
    await page.getByRole('region', { name: 'Changes' }).getByText('lineTotal').first().waitFor()
    await tour().getByText('The Merge button brings it').waitFor()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Merge', exact: true }).click()

    await tour().getByText('That was all of it').waitFor()
    const [project] = await world.client.listProjects()
    const receipt = execFileSync('git', ['show', 'main:src/receipt.js'], { cwd: project?.path, encoding: 'utf8' })
    expect(receipt).toContain('€')
  })

  test('and leads on to a repository of their own', async () => {
    await tour().getByRole('button', { name: 'Add a project' }).click()
    await page.getByLabel('Path of the repository').waitFor()
    await page.keyboard.press('Escape')
    await tour().getByRole('button', { name: 'Done' }).click()
    await page.reload()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()

    expect(await tour().count()).toBe(0)
    expect(tab.complaints.filter((text) => !/status of (401|403)/.test(text))).toEqual([])
  })

  function tour() {
    return page.getByRole('complementary', { name: 'A first look' })
  }

  /** Whether the words of the tour lie over anything of the view beside it. */
  async function isCovered(): Promise<boolean> {
    const card = await tour().boundingBox()
    const main = await page.getByRole('main').boundingBox()
    if (!card || !main) throw new Error('The page shows no tour, or nothing but it.')
    const isBeside = card.x + card.width <= main.x || card.x >= main.x + main.width
    const isBelow = card.y >= main.y + main.height || card.y + card.height <= main.y
    return !isBeside && !isBelow
  }
})
