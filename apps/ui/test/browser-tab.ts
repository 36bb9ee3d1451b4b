import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { World } from './world.ts'

export const chromiumPath = process.env.MATRIX_CHROMIUM ?? '/usr/bin/chromium'

export const desktop = { width: 1440, height: 900 }
export const phone = { width: 390, height: 844 }
/** A phone in the hand: what is small and is used by fingers. */
export const touchPhone = { viewport: phone, hasTouch: true, isMobile: true }

async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  })
}

export type Tab = { page: Page; context: BrowserContext; complaints: string[] }

/** A tab in a browser of its own, which keeps everything that its console complains about. */
export async function openTab(browser: Browser, look: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({
    viewport: desktop,
    reducedMotion: 'reduce',
    colorScheme: 'light',
    ...look,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return { page, context, complaints }
}

export type Visit<Place> = { place: Place; browser: Browser; tab: Tab; page: Page; close(): Promise<void> }

/** A place with a browser that can look at it; both are gone when it is closed. */
export async function openVisit<Place extends { close(): Promise<void> }>(
  opening: Promise<Place>,
): Promise<Visit<Place>> {
  const place = await opening
  const browser = await openBrowser().catch(async (error) => {
    await place.close()
    throw error
  })
  const tab = await openTab(browser)
  const close = async () => {
    await browser.close()
    await place.close()
  }
  return { place, browser, tab, page: tab.page, close }
}

/** Lets the tab in by the address that the daemon printed when it started. */
export async function enterByAddress({ page }: Tab, world: Pick<World, 'enrolmentUrl'>): Promise<void> {
  await page.goto(world.enrolmentUrl)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

/** Lets in one more tab, by a code that is agreed to in the terminal. */
export async function enterByCode({ page }: Tab, { url, client }: Pick<World, 'url' | 'client'>): Promise<void> {
  const { code } = await client.openEnrolment()
  await page.goto(url)
  await page.getByLabel('Code').fill(code)
  await page.getByRole('button', { name: 'Add this browser' }).click()
  await page.getByRole('heading', { name: 'Confirm in the terminal' }).waitFor()
  const waiting = (await client.listDevices()).find(({ state }) => state === 'waiting')
  await client.confirmDevice({ deviceId: waiting?.id ?? '' })
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
}
