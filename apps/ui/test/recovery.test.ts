import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInBrowser, enterByAddress, openTab, openVisit, type Visit } from './browser.ts'
import { openStage, type Stage } from './stage.ts'

describeInBrowser('a daemon that is killed', () => {
  let stage: Stage
  let visit: Visit<Stage>
  let page: Page

  beforeAll(async () => {
    visit = await openVisit(openStage())
    stage = visit.place
    const { tab } = visit
    page = tab.page
    await enterByAddress(tab, stage)
    await page.goto(`${stage.url}/p/${stage.projectId}/t/${stage.taskIds['Currency of the shop']}`)
    await page.getByText('Nothing here says which currency').waitFor()
    // A reload would wipe this out.
    await page.evaluate(() => Object.assign(window, { isSamePage: true }))
  })
  afterAll(() => visit?.close())

  test('leaves a page that says it is out of reach and still shows how things were', async () => {
    await stage.killDaemon()

    await page
      .getByRole('status')
      .filter({ hasText: /Reconnecting|No daemon/ })
      .first()
      .waitFor()
    await page.getByText('Nothing here says which currency').waitFor()
  })

  test('comes back, and the page says that it is behind for as long as it is', async () => {
    let letRead = () => {}
    const mayRead = new Promise<void>((resolve) => {
      letRead = resolve
    })
    await page.route('**/api/attention', async (route) => {
      await mayRead
      await route.continue()
    })
    await stage.startDaemon()
    await page.getByText('Reading what was missed').waitFor()
    letRead()

    await page.getByText('Reading what was missed').waitFor({ state: 'detached' })
    await page.unroute('**/api/attention')
  })

  test('the page goes on by itself: no reload, nothing missing, nothing twice', async () => {
    await page.getByText('Live', { exact: true }).waitFor()
    const findQuestion = async () => (await stage.client.listAttention()).find(({ kind }) => kind === 'question')
    await expect.poll(findQuestion).toBeDefined()
    const question = await findQuestion()
    await stage.client.answerQuestion({
      projectId: stage.projectId,
      questionId: question?.id ?? '',
      body: { answer: '€' },
    })
    await page.getByText('`formatPrice` shows cents').or(page.getByText('formatPrice shows cents')).first().waitFor()

    expect(await page.evaluate(() => 'isSamePage' in window)).toBe(true)
    expect(await page.getByText('Nothing here says which currency').count()).toBe(1)
    await page.getByRole('navigation', { name: 'Tasks' }).getByRole('img', { name: 'Passed' }).nth(2).waitFor()
  })

  test('lets a browser that it knows in again, also after the session has ended', async () => {
    await page.context().clearCookies()
    await page.evaluate(() => sessionStorage.clear())
    await page.goto(stage.url)

    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  })

  test('and a browser whose device was revoked is asked for a code', async () => {
    const [device] = await stage.client.listDevices()
    await stage.client.revokeDevice({ deviceId: device?.id ?? '' })
    await page.goto(stage.url)

    await page.getByRole('heading', { name: 'Add this browser' }).waitFor()
  })

  test('a code that is typed waits for a yes in the terminal, with the same fingerprint on both sides', async () => {
    const { code } = await stage.client.openEnrolment()
    await page.getByLabel('Code').fill(code)
    await page.getByRole('button', { name: 'Add this browser' }).click()
    await page.getByRole('heading', { name: 'Confirm in the terminal' }).waitFor()
    const waiting = (await stage.client.listDevices()).find(({ state }) => state === 'waiting')
    expect(await page.getByTestId('fingerprint').textContent()).toBe(waiting?.id)

    await stage.client.confirmDevice({ deviceId: waiting?.id ?? '' })
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  })

  test('a wrong code is refused in words', async () => {
    const other = await openTab(visit.browser)
    await other.page.goto(stage.url)
    await other.page.getByLabel('Code').fill('0000000000')
    await other.page.getByRole('button', { name: 'Add this browser' }).click()

    await other.page.getByRole('alert').waitFor()
  })
})
