import type { Attention } from '@matrix/protocol/http'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  describeInBrowser,
  enterByAddress,
  enterByCode,
  openTab,
  openVisit,
  type Tab,
  touchPhone,
  type Visit,
} from './browser.ts'
import { workshopPlaybook } from './workshop.ts'
import { openWorld, type World } from './world.ts'

const files = { 'wall.txt': 'the wall is grey\nand high\n' }

// One agent that is watched for a while: each test goes on where the one before it ended.
describeInBrowser('looking at one task', () => {
  let world: World
  let visit: Visit<World>
  let tab: Tab
  let page: Page
  let projectId: string
  let taskId: string

  beforeAll(async () => {
    visit = await openVisit(openWorld({ files, playbook: workshopPlaybook() }))
    world = visit.place
    const project = await world.client.registerProject({ body: { path: world.repository, setup: { choice: 'none' } } })
    projectId = project.id
    taskId = await launch('Clerk', 'Count everything.')
    tab = visit.tab
    page = visit.page
    await enterByAddress(tab, world)
  })
  afterAll(() => visit?.close())

  test('a long conversation is followed to its end, with few rows in the page', async () => {
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}`)
    await conversation().getByText('All counted.').waitFor({ timeout: 60_000 })

    const { lastSeq } = await world.client.getTask({ projectId, taskId })
    expect(lastSeq).toBeGreaterThan(900)
    expect(await conversation().locator('[data-index]').count()).toBeLessThan(80)
  })

  test('after a change of the settings, the panel says what the session runs with and restarts it', async () => {
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}?panel=about`)
    const panel = page.getByRole('complementary', { name: 'About the task' })
    await panel.getByRole('heading', { name: 'Configuration' }).waitFor()
    const { current } = await world.client.readConfiguration({ projectId, taskId })
    await world.client.setConfig({ layer: 'global', key: 'model', body: { value: 'claude-opus-4-5' } })
    await panel.getByText(`model ${current?.model} → claude-opus-4-5`).waitFor()
    await panel.getByText(/tokens anew instead of from its cache/).waitFor()
    await panel.getByRole('button', { name: 'Take it at rest' }).click()
    await panel.getByText('Requested: the agent takes it when it rests.').waitFor()

    expect(await world.client.readConfiguration({ projectId, taskId })).toMatchObject({ isRequested: true })
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}`)
  })

  test('scrolling back reads what was said before, to the very beginning', async () => {
    await conversation().hover()
    await expect
      .poll(
        async () => {
          await page.mouse.wheel(0, -6000)
          return conversation().getByText('Round 1 of 12.').count()
        },
        { timeout: 40_000 },
      )
      .toBe(1)

    await page.getByRole('button', { name: /To the end|new events/ }).click()
    await conversation().getByText('All counted.').waitFor()
  })

  test('an address leads to any event, and its row is pointed out', async () => {
    const { events } = await world.client.readEvents({ projectId, taskId, after: 400, limit: 100 })
    const call = events.find(({ event }) => event.type === 'tool_call')
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}?seq=${call?.seq}`)

    await page.locator(`#event-${call?.seq}`).waitFor()
    await expect.poll(() => page.locator(`#event-${call?.seq}`).getAttribute('class')).toContain('outline')
  })

  test('a call is one line until it is opened, and every event can be read as it was stored', async () => {
    await page.getByRole('tab', { name: 'Raw events' }).click()
    await page.getByLabel('Only events of this type').fill('tool_result')
    await page
      .getByRole('button', { name: /tool_result$/ })
      .first()
      .click()
    await page.getByText('"type": "tool_result"').waitFor()

    const marked = page.locator(`#event-${new URL(page.url()).searchParams.get('seq')}`)
    await marked.getByRole('button', { expanded: false, name: /nothing-/ }).click()
    await marked.getByRole('button', { expanded: true, name: /nothing-/ }).waitFor()
    expect(await marked.getByText('No files match.').count()).toBe(2)
  })

  test('what an agent writes is never run, fetched or followed unseen', async () => {
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}`)
    await conversation().getByText('All counted.').waitFor()

    expect(await conversation().locator('script, img, iframe, a[href^="javascript"]').count()).toBe(0)
    await conversation().getByRole('button', { name: 'another' }).click()
    await page.getByRole('dialog').getByText('https://example.com/?secret=1').waitFor()
    await page.getByRole('button', { name: 'Stay' }).click()
    expect(asked.filter((url) => !url.startsWith(world.url))).toEqual([])
    expect(await page.title()).not.toContain('owned')
  })

  test('a call that needs leave is answered beside the conversation', async () => {
    await say('Start the watcher')
    await page.getByRole('button', { name: /^Allow once/ }).click()

    await conversation().getByText('The watcher runs.').waitFor()
  })

  test('a command in the background is seen, read and ended', async () => {
    await page.goto(`${world.url}/p/${projectId}/processes`)
    await page
      .getByRole('button', { name: /while true/ })
      .first()
      .click()
    await page.getByRole('region', { name: 'Output' }).getByText('tick').first().waitFor()
    await page.getByRole('button', { name: /^Kill/ }).click()

    await page.getByText('Nothing runs in the background').waitFor()
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}`)
    await conversation().getByText('The watcher is gone.').waitFor()
  })

  test('a message waits until it is read, and can be written anew until then', async () => {
    await say('Take your time')
    await conversation().getByText('Take your time', { exact: true }).waitFor()
    const waiting = page.getByRole('article', { name: 'Not read yet' })
    await expect.poll(() => waiting.count()).toBe(0)
    await say('Second thought')
    await waiting.getByText('Second thought').waitFor()
    await waiting.getByRole('button', { name: 'Edit' }).click()
    await expect.poll(() => page.getByLabel('Message', { exact: true }).inputValue()).toBe('Second thought')
    await say('Second thought, improved')

    await conversation().getByText('Understood.').waitFor()
    const read = await conversation().getByRole('article').filter({ hasText: 'Second thought' }).allInnerTexts()
    expect(read).toEqual([expect.stringContaining('Second thought, improved')])
    expect(await waiting.count()).toBe(0)
  })

  test('a picture from the clipboard goes along with the words', async () => {
    await page.getByLabel('Message', { exact: true }).fill('Look at this')
    await pastePicture(page)
    await page.getByAltText('To send: 1').waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()

    await conversation().getByText('A small picture.').waitFor()
    expect(await conversation().getByAltText('Made or read by the agent').count()).toBe(1)
  })

  test('what can be done with an event is reached by keys alone, and seen when it is', async () => {
    const opener = page.getByRole('button', { name: `Tools of event ${await eventOf('A small picture.')}` })
    const isFocused = () => opener.evaluate((button) => button === document.activeElement)
    await page.getByLabel('Message', { exact: true }).focus()
    for (let tabs = 0; tabs < 40 && !(await isFocused()); tabs += 1) await page.keyboard.press('Shift+Tab')
    expect(await opener.evaluate((button) => getComputedStyle(button).opacity)).toBe('1')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Copy the text')

    await page.keyboard.press('Escape')
    expect(await isFocused()).toBe(true)
    expect(await page.getByRole('button', { name: 'Fork from here' }).count()).toBe(0)
  })

  test('and by a finger', async () => {
    const event = await eventOf('A small picture.')
    const other = await openTab(visit.browser, touchPhone)
    await enterByCode(other, world)
    await other.page.goto(`${world.url}/p/${projectId}/t/${taskId}`)
    const opener = other.page.getByRole('button', { name: `Tools of event ${event}` })
    await opener.tap()
    await other.page.getByRole('button', { name: 'Rewind to here' }).tap()

    await other.page.getByRole('dialog', { name: `Rewind to event ${event}` }).waitFor()
    await other.context.close()
  })

  test('a message that nobody has read is withdrawn; stopping says what was kept, and the agent can be let go on', async () => {
    await say('Sleep')
    await conversation().getByText('Sleep', { exact: true }).waitFor()
    await say('Never mind')
    await page.getByRole('article', { name: 'Not read yet' }).getByRole('button', { name: 'Withdraw' }).click()
    await conversation().getByText('Never mind').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('Stopped 1 agent').waitFor()
    await page.getByText('The conversation is kept').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()

    await page.getByText('1 agent resumed').waitFor()
  })

  test('from any event another task can go on, knowing only what came before it', async () => {
    const event = await eventOf('A small picture.')
    // The agent goes on writing, which moves what is under a mouse; an event that a link names keeps its tools.
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}?seq=${event}`)
    await page.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByRole('heading', { name: 'Clerk (fork)' }).waitFor()

    await conversation().getByText('A small picture.').waitFor()
    expect(await conversation().getByText('Sleep', { exact: true }).count()).toBe(0)
    const fork = (await world.client.listTasks({ projectId })).find(({ title }) => title === 'Clerk (fork)')
    const { events } = await world.client.readEvents({ projectId, taskId: fork?.id ?? '', limit: 1000 })
    const marker = events.map((one) => one.event).findLast(({ type }) => type === 'fork_marker')
    expect(marker).toMatchObject({ sourceTaskId: taskId, sourceSeq: event })
  })

  test('a conversation is taken back to an event, and says which part the agent has forgotten', async () => {
    const event = await eventOf('A small picture.')
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}?seq=${event}`)
    await page.getByRole('button', { name: 'Rewind to here' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /ewind$/ })
      .click()
    await page.getByText(`Taken back to event ${event}`).waitFor()

    await conversation().getByText(`The conversation goes on after event ${event}.`).waitFor()
    await conversation().getByText('Taken back: ').first().waitFor({ state: 'attached' })
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}`)
  })

  test('commands are offered as they are typed, and one that does not exist is not sent as words', async () => {
    await page.getByLabel('Message', { exact: true }).fill('/bud')
    await page.getByRole('option', { name: /budget/ }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type('3')
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await world.client.getTask({ projectId, taskId })).budgetUsd).toBe(3)
    await page.getByRole('meter', { name: 'Budget of Clerk' }).waitFor()

    await page.getByLabel('Message', { exact: true }).fill('/stpo')
    await page.keyboard.press('Enter')
    await page.getByText('There is no command /stpo').waitFor()
    await page.getByLabel('Message', { exact: true }).fill('')
  })

  test('a budget is raised where it is shown', async () => {
    await page.getByRole('button', { name: 'Raise the budget of Clerk' }).click()
    await page.getByLabel('Dollars').fill('7.5')
    await page.getByRole('button', { name: 'Set to $7.50' }).click()

    await expect.poll(async () => (await world.client.getTask({ projectId, taskId })).budgetUsd).toBe(7.5)
  })

  test('a tool says what was checked of it, and is taken away and given back', async () => {
    await page.goto(`${world.url}/p/${projectId}/t/${taskId}/tools`)
    const server = page.getByRole('region', { name: 'Server mxd' })
    await server.getByText(/^(Verified|Names match)$/).waitFor()
    await server.getByRole('button', { name: 'Block write_file' }).click()
    await server.getByRole('button', { name: 'Unblock write_file' }).waitFor()
    const { entries } = await world.client.readConfig({ projectId })
    expect(entries.find(({ key }) => key === 'deny')).toMatchObject({ value: ['write_file'], origin: 'local' })

    await server.getByRole('button', { name: 'Unblock write_file' }).click()
    await server.getByRole('button', { name: 'Block write_file' }).waitFor()
  })

  test('two branches that want the same line meet in the conflict map', async () => {
    const red = await launch('Red', 'Paint the wall red')
    await launch('Blue', 'Paint the wall blue')
    await expect.poll(() => overlaps(), { timeout: 40_000 }).toBe(1)
    await page.goto(`${world.url}/p/${projectId}/conflicts`)
    await page.getByText('1 pair of branches would conflict.').waitFor()
    await page.getByRole('button', { name: /would conflict in 1 file/ }).click()
    await page.getByText('wall.txt').waitFor()
    await page.getByRole('link', { name: 'Red' }).last().click()

    await page.waitForURL(`**/t/${red}/review`)
    await page.getByRole('navigation', { name: 'Changed files' }).getByText('wall.txt').waitFor()
  })

  test('a diff is read side by side or in one column, without white space, and since the last look', async () => {
    const changes = page.getByRole('region', { name: 'Changes' })
    await changes.getByText('the wall is red').waitFor()
    const red = new URL(page.url()).pathname.split('/').at(-2) ?? ''
    // A look counts after a few seconds.
    await page.waitForFunction((id) => localStorage.getItem(`matrix.review.${id}`)?.includes('lastLook'), red)
    await world.client.sendMessage({ projectId, taskId: red, body: { text: 'Another coat' } })
    await expect.poll(() => filesOf(red), { timeout: 40_000 }).toContain('second-coat.txt')
    await page.reload()
    await changes.getByText('also red').waitFor()
    await page.getByRole('button', { name: /^(Side by side|One below the other)$/ }).click()
    await changes.getByText('also red').waitFor()

    await page.getByRole('button', { name: 'Since my last look' }).click()
    await page.getByText('2 files').waitFor()
    await page.getByRole('button', { name: 'Ignore white space' }).click()
    await page.getByText('1 file', { exact: true }).waitFor()
    await changes.getByText('also red').waitFor()
  })

  test('what was spent is shown by day, by model and by task', async () => {
    await page.goto(`${world.url}/p/${projectId}/money`)
    await page.getByRole('figure', { name: 'Spent on each of the last days' }).waitFor()
    await page
      .getByRole('cell', { name: /claude|mock/ })
      .first()
      .waitFor()

    await page.getByRole('link', { name: 'Clerk' }).first().waitFor()
  })

  test('nothing on the way made the console complain', () => {
    expect(tab.complaints.filter((text) => !/status of (401|403|404|409|422)/.test(text))).toEqual([])
  })

  /** The place of something that the agent has said. */
  async function eventOf(text: string): Promise<number> {
    const { events } = await world.client.readEvents({ projectId, taskId, before: 100_000, limit: 500 })
    const found = events.findLast(({ event }) => 'text' in event && event.text === text)
    if (!found) throw new Error(`Nobody has said: ${text}`)
    return found.seq
  }

  function conversation() {
    return page.getByRole('log', { name: 'Conversation' })
  }

  async function say(text: string): Promise<void> {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await expect.poll(() => page.getByLabel('Message', { exact: true }).inputValue()).toBe('')
  }

  /** Starts an agent; the set-up script of its worktree is agreed to on the way. */
  async function launch(title: string, description: string): Promise<string> {
    const { id } = await world.client.createTask({ projectId, body: { title, description } })
    await world.client.sendMessage({ projectId, taskId: id, body: { text: 'Please start.' } })
    await vi.waitFor(
      async () => {
        for (const item of await approvals()) await allow(item)
        const { activity } = await world.client.getTask({ projectId, taskId: id })
        expect(activity).toMatch(/working|waiting/)
        // It also waits while the script is being asked about.
        expect(await approvals()).toEqual([])
      },
      { timeout: 30_000, interval: 200 },
    )
    return id
  }

  async function allow({ id, approval }: Attention): Promise<void> {
    const inputDigest = approval?.inputDigest ?? ''
    await world.client.answerApproval({
      projectId,
      approvalId: id,
      body: { decision: 'allow', scope: 'always', inputDigest },
    })
  }

  async function approvals(): Promise<Attention[]> {
    return (await world.client.listAttention()).filter(({ kind }) => kind === 'approval')
  }

  async function overlaps(): Promise<number> {
    return (await world.client.listOverlaps({ projectId })).filter(({ conflicts }) => conflicts.length > 0).length
  }

  async function filesOf(id: string): Promise<string[]> {
    return (await world.client.getChanges({ projectId, taskId: id })).files.map(({ path }) => path)
  }
})

/** One pixel, as if it had been copied. */
async function pastePicture(page: Page): Promise<void> {
  await page.getByLabel('Message', { exact: true }).evaluate((field) => {
    const bytes = atob(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    )
    const data = new DataTransfer()
    data.items.add(new File([Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))], 'dot.png', { type: 'image/png' }))
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  })
}
