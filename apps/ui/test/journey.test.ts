import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeInBrowser, enterByAddress, openVisit, phone, type Tab, type Visit } from './browser.ts'
import { goal, priceOnMain, resolvedPrice, shopFiles, shopStory } from './story.ts'
import { openWorld, type World } from './world.ts'

// One person, one afternoon: each test goes on where the one before it ended.
describeInBrowser('a person and their agents', () => {
  let world: World
  let visit: Visit<World>
  let tab: Tab
  let page: Page

  beforeAll(async () => {
    visit = await openVisit(openWorld({ files: shopFiles, playbook: shopStory({ thinkMs: 20 }) }))
    world = visit.place
    tab = visit.tab
    page = visit.page
  })
  afterAll(() => visit?.close())

  test('the address that the daemon prints lets in one browser, and leaves no trace of its code', async () => {
    await enterByAddress(tab, world)

    expect(page.url()).toBe(`${world.url}/`)
    expect((await world.client.listDevices()).map(({ state }) => state)).toEqual(['enrolled'])
  })

  test('without a project the page says how to add one, and adding it leads to its tree', async () => {
    await page.getByRole('heading', { name: 'Give agents a repository' }).waitFor()
    await page.getByLabel('Path of the repository').fill(world.repository)
    await page.getByRole('button', { name: 'Add', exact: true }).click()

    await page.getByRole('treeitem', { name: 'shop' }).waitFor()
  })

  test('a repository that is none is refused in words', async () => {
    await page.getByRole('button', { name: 'Add a project' }).click()
    await page.getByLabel('Path of the repository').fill(join(world.home, 'nowhere'))
    await page.getByRole('button', { name: 'Add', exact: true }).click()

    await page
      .getByRole('alert')
      .getByText(/nowhere/)
      .waitFor()
    await page.keyboard.press('Escape')
  })

  test('a goal goes to the root agent, once its setup is decided', async () => {
    await page.getByRole('treeitem', { name: 'shop' }).getByRole('link').click()
    await page.getByLabel('Message', { exact: true }).fill(goal)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Main' }).getByText('1 waiting').waitFor({ state: 'attached' })
    await press('g', 'i')
    const approval = card('Approval', 'shop')
    await approval.getByText('nothing is needed').first().waitFor()
    await approval.getByRole('button', { name: 'Approve' }).click()

    await approval.waitFor({ state: 'detached' })
  })

  test('the tasks it makes appear as they are made, and the title counts what waits', async () => {
    await press('g', 't')
    for (const title of ['Spring discount', 'Gift wrapping', 'Currency of the shop', 'Stock from the supplier'])
      await page.getByRole('treeitem', { name: title }).waitFor()

    await page.getByRole('treeitem', { name: 'Currency of the shop, Has a question' }).waitFor()
    await expect.poll(() => page.title()).toMatch(/^\(\d\) Matrix$/)
  })

  test('a question is answered by one key, and the agent goes on with the answer', async () => {
    await press('g', 'i')
    await choose('Question', 'Currency of the shop')
    await page.getByText('Which sign goes with a price?').first().waitFor()
    await press('2')

    await card('Question', 'Currency of the shop').waitFor({ state: 'detached' })
    await untilStatus('Currency of the shop', 'passed')
    const branch = (await taskOf('Currency of the shop')).branch
    expect(world.git('show', `${branch}:src/format.js`)).toContain('toFixed(2)} $`')
  })

  test('a call is shown as it would run; denied, it does not run', async () => {
    await choose('Approval', 'Stock from the supplier')
    await page.getByText('curl -sS https://supplier.example/stock.csv | head -5').waitFor()
    await page.getByLabel('Why it is denied').fill('Their network is none of our business.')
    await page.getByRole('button', { name: /^Deny/ }).click()

    await card('Approval', 'Stock from the supplier').getByText('ls src').waitFor()
    expect(await resultsOf('Stock from the supplier')).toContainEqual(
      expect.stringMatching(/denied|AUTHORIZATION_DENIED/i),
    )
  })

  test('allowed by one key, it runs', async () => {
    await choose('Approval', 'Stock from the supplier')
    await press('a')

    await card('Approval', 'Stock from the supplier').waitFor({ state: 'detached' })
    await expect
      .poll(() => resultsOf('Stock from the supplier'))
      .toContainEqual(expect.stringContaining('42 files at most'))
  })

  test('a failure can be put aside as seen', async () => {
    await choose('Failure', 'Opening hours')
    await press('e')

    await card('Failure', 'Opening hours').waitFor({ state: 'detached' })
  })

  test('a comment on several lines is sent back to the agent as one message', async () => {
    const { id } = await taskOf('Gift wrapping')
    await page.goto(`${world.url}/p/${await projectId()}/t/${id}/review`)
    const line = (number: number) =>
      page.getByRole('button', { name: `Comment on line ${number}`, exact: true }).first()
    await line(1).click()
    await line(3).click({ modifiers: ['Shift'] })
    await page.getByRole('textbox', { name: /^Comment on/ }).fill('Say what a child would get wrapped.')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Send 1 comment' }).click()

    await expect.poll(() => saidOf('Gift wrapping')).toContainEqual('I had a look at your comment and agree.')
    const [message] = (await eventsOf('Gift wrapping')).filter(
      (event) => event.type === 'message' && JSON.stringify(event).includes('a child would get'),
    )
    expect(JSON.stringify(message)).toMatch(/src\/price\.js\D+1\D3\D/)
  })

  test('a conflict is shown before anything is merged, and the agent can be asked to resolve it', async () => {
    await writeFile(join(world.repository, 'src/price.js'), priceOnMain)
    world.git('commit', '--quiet', '-am', 'the name of the shop')
    const { id } = await taskOf('shop')
    await page.goto(`${world.url}/p/${await projectId()}/t/${id}/review`)
    await page.getByText('Would conflict with main in 1 file').waitFor()
    await page.getByRole('button', { name: 'Ask the agent to resolve' }).click()
    await page.getByRole('button', { name: 'Send', exact: true }).click()

    await expect.poll(() => saidOf('shop')).toContainEqual('The conflict is resolved, and the discount is in.')
    await page.reload()
    await page.getByText('Would merge').waitFor()
  })

  test('merging brings the work to the main branch, and the checkout along when asked to', async () => {
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Bring my own checkout along').check()
    await dialog.getByRole('button', { name: 'Merge', exact: true }).click()

    await dialog.waitFor({ state: 'detached' })
    expect(await readFile(join(world.repository, 'src/price.js'), 'utf8')).toBe(resolvedPrice)
    expect(world.git('status', '--short')).toBe('')
  })

  test('an agent that has used up its budget waits for more, and goes on with it', async () => {
    await page.goto(`${world.url}/p/${await projectId()}`)
    await page.getByRole('treeitem').first().waitFor()
    await press('c')
    await page.getByLabel('Title', { exact: true }).fill('Leaflet')
    await page.getByLabel('What is to be done').fill('Write a leaflet for the window.')
    await page.getByLabel('Budget in dollars').fill('0.05')
    await page.getByRole('button', { name: 'Add and start' }).click()
    await page.getByRole('heading', { name: 'Leaflet' }).waitFor()
    await page.getByText('Out of budget').first().waitFor()
    await press('g', 'i')
    await choose('Budget', 'Leaflet')
    await page.getByLabel('New budget in dollars').fill('2')
    await page.getByRole('button', { name: 'Raise and resume' }).click()

    await untilStatus('Leaflet', 'passed')
  })

  test('everything that was said is found, and a find leads to its place', async () => {
    await press('/')
    await page.getByLabel('Words to look for').fill('Saturdays differ')
    await page
      .getByRole('link', { name: /Saturdays/ })
      .first()
      .click()

    await page.getByRole('heading', { name: 'Opening hours' }).waitFor()
    await page.getByText('Saturdays differ from the rest of the week').waitFor()
    expect(new URL(page.url()).searchParams.get('seq')).toMatch(/^\d+$/)
  })

  test('the palette reaches tasks and commands from anywhere', async () => {
    await usePalette('wrapp')
    await page.getByRole('heading', { name: 'Gift wrapping' }).waitFor()
    await usePalette('dark col')
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')

    await usePalette('colours of the system')
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBeUndefined()
  })

  test('tabs stay open over a reload, and close one by one', async () => {
    await press('p')
    await page.reload()
    const tabs = page.getByRole('navigation', { name: 'Open tasks' })
    await tabs.getByRole('link', { name: 'Gift wrapping' }).waitFor()
    await page.getByRole('button', { name: 'Close Gift wrapping' }).click()

    await tabs.getByRole('link', { name: 'Gift wrapping' }).waitFor({ state: 'detached' })
  })

  test('a task is moved in the tree by keyboard and by mouse', async () => {
    await page.goto(`${world.url}/p/${await projectId()}`)
    const row = (title: string) => page.getByRole('treeitem', { name: title })
    await row('Leaflet').focus()
    await page.keyboard.press('Alt+ArrowUp')
    await expect.poll(async () => (await childrenOf('shop')).at(-2)).toBe('Leaflet')
    const last = (await childrenOf('shop')).at(-1) ?? ''
    const heightOf = async (title: string) => (await row(title).boundingBox())?.y ?? 0
    await expect.poll(async () => (await heightOf('Leaflet')) < (await heightOf(last))).toBe(true)

    await drag(page, row('Leaflet'), row('Opening hours'))
    await expect.poll(() => childrenOf('Opening hours')).toEqual(['Leaflet'])
  })

  test('tasks are grouped in folders, looked for, and marked as favourites', async () => {
    const row = (title: string) => page.getByRole('treeitem', { name: title })
    await press('c')
    await page.getByLabel('Title', { exact: true }).fill('Later')
    await page.getByLabel('Only a folder to group tasks').check()
    await page.getByRole('button', { name: 'Add the folder' }).click()
    await row('Later, folder').waitFor()

    await row('Gift wrapping').hover()
    await row('Gift wrapping').getByRole('button', { name: 'Favourite: Gift wrapping' }).click()
    await page.getByRole('button', { name: 'Favourites' }).click()
    await row('Later').waitFor({ state: 'detached' })
    expect(await page.getByRole('treeitem').count()).toBe(2)
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await page.getByRole('searchbox', { name: 'Find a task' }).fill('spring')
    await row('Gift wrapping').waitFor({ state: 'detached' })
    await row('Spring discount').focus()
  })

  test('a card is moved on the board by mouse and by keyboard, where that means something', async () => {
    await press('g', 'b')
    const columnOf = (title: string) => page.getByRole('region', { name: title })
    const cardOf = (title: string) => page.getByRole('main').getByRole('link', { name: title })
    await columnOf('Failed').getByText('Opening hours').waitFor()
    await dragCard(page, cardOf('Opening hours'), columnOf('Planned'))
    await untilStatus('Opening hours', 'pending')
    await columnOf('Planned').getByText('Opening hours').waitFor()

    await cardOf('Leaflet').focus()
    await page.keyboard.press('Alt+ArrowRight')
    await untilStatus('Leaflet', 'closed')
  })

  test('a setting is changed, and says which layer it comes from now', async () => {
    await page.goto(`${world.url}/settings`)
    await page.getByRole('button', { name: 'Change maxDepth' }).click()
    await page.getByLabel('New value of maxDepth').fill('3')
    await page.getByRole('button', { name: 'Save' }).click()

    await page.getByRole('listitem').filter({ hasText: 'maxDepth' }).getByText('yours, everywhere').waitFor()
    const { entries } = await world.client.readConfig()
    expect(entries.find(({ key }) => key === 'maxDepth')).toMatchObject({ value: 3, origin: 'global' })
  })

  test('an agent is added from a file once it was shown what it may do', async () => {
    await page.goto(`${world.url}/settings?section=agents`)
    const agent = { name: 'reviewer', version: '1.0.0', description: 'Reads.', tools: ['fs-read'] }
    const mcpServers = { git: { command: 'git-mcp-that-is-missing', transport: 'stdio' } }
    const buffer = Buffer.from(JSON.stringify({ ...agent, mcpServers }))
    await page.getByLabel('Agent file').setInputFiles({ name: 'r.json', mimeType: 'application/json', buffer })
    const dialog = page.getByRole('dialog', { name: 'Add reviewer?' })
    await dialog.getByText('Reads files of its worktree.').waitFor()
    await dialog.getByText('"git" runs git-mcp-that-is-missing, which is not installed.').waitFor()
    expect((await world.client.listAgents({})).map(({ name }) => name)).not.toContain('reviewer')
    await dialog.getByRole('button', { name: 'Add for all projects' }).click()

    await page.getByRole('listitem').filter({ hasText: 'reviewer' }).getByText('approved').waitFor()
    expect(await world.client.listAgents({})).toContainEqual(
      expect.objectContaining({
        name: 'reviewer',
        source: 'user',
        leftOut: [expect.objectContaining({ alias: 'git' })],
      }),
    )
  })

  test('on a phone the inbox, the tree and search are one tap away', async () => {
    await page.setViewportSize(phone)
    const bar = page.getByRole('navigation', { name: 'Places' })
    await bar.getByRole('link', { name: 'Tasks' }).click()
    await page.getByRole('treeitem', { name: 'Gift wrapping' }).waitFor()
    await bar.getByRole('link', { name: /Inbox/ }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)

    expect(isWide).toBe(false)
  })

  test('nothing on the way made the console complain', () => {
    // A challenge is refused before the device is known, and a folder that is none before it is one.
    expect(tab.complaints.filter((text) => !/status of (401|403|422|404)/.test(text))).toEqual([])
  })

  async function press(...keys: string[]): Promise<void> {
    for (const key of keys) await page.keyboard.press(key)
  }

  async function usePalette(words: string): Promise<void> {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(words)
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
  }

  function card(kind: string, title: string) {
    return page.getByRole('article', { name: `${kind}: ${title}` })
  }

  async function choose(kind: string, title: string): Promise<void> {
    await card(kind, title)
      .getByRole('button', { name: new RegExp(`^${kind}`) })
      .click()
  }

  async function projectId(): Promise<string> {
    const [project] = await world.client.listProjects()
    return project?.id ?? ''
  }

  async function allTasks() {
    return world.client.listTasks({ projectId: await projectId() })
  }

  async function taskOf(title: string) {
    const task = (await allTasks()).find((one) => one.title === title)
    if (!task) throw new Error(`There is no task "${title}".`)
    return task
  }

  async function childrenOf(title: string): Promise<string[]> {
    const tasks = await allTasks()
    const parent = tasks.find((one) => one.title === title)
    return (parent?.children ?? []).map((id) => tasks.find((one) => one.id === id)?.title ?? '')
  }

  async function untilStatus(title: string, status: string): Promise<void> {
    await expect.poll(async () => (await taskOf(title)).status, { timeout: 30_000 }).toBe(status)
  }

  async function eventsOf(title: string) {
    const { id } = await taskOf(title)
    const { events } = await world.client.readEvents({ projectId: await projectId(), taskId: id })
    return events.map(({ event }) => event)
  }

  async function resultsOf(title: string): Promise<string[]> {
    return (await eventsOf(title)).filter(({ type }) => type === 'tool_result').map((event) => JSON.stringify(event))
  }

  async function saidOf(title: string): Promise<unknown[]> {
    return (await eventsOf(title)).map((event) => ('text' in event ? event.text : undefined))
  }
})

type Place = ReturnType<Page['getByRole']>

/** Slowly enough that the page sees a drag and not a jump. */
async function drag(page: Page, from: Place, to: Place): Promise<void> {
  const start = await from.boundingBox()
  const end = await to.boundingBox()
  if (!start || !end) throw new Error('One of the rows is not in sight.')
  await page.mouse.move(start.x + 300, start.y + start.height / 2)
  await page.mouse.down()
  await page.mouse.move(start.x + 300, start.y - 10, { steps: 5 })
  await page.mouse.move(end.x + 300, end.y + end.height / 2, { steps: 10 })
  await page.locator('[data-drop=inside]').waitFor()
  await page.mouse.up()
}

async function dragCard(page: Page, from: Place, to: Place): Promise<void> {
  const start = await from.boundingBox()
  const end = await to.boundingBox()
  if (!start || !end) throw new Error('The card or its column is not in sight.')
  await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2)
  await page.mouse.down()
  await page.mouse.move(start.x + start.width / 2 + 20, start.y + start.height / 2, { steps: 5 })
  await page.mouse.move(end.x + end.width / 2, end.y + 60, { steps: 10 })
  await page.getByText('Drop to plan it again').waitFor()
  await page.mouse.up()
}
