import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { World } from './world.ts'

export const chromiumPath = process.env.MATRIX_CHROMIUM ?? '/usr/bin/chromium'

export const desktop = { width: 1440, height: 900 }
export const phone = { width: 390, height: 844 }

export async function openBrowser(): Promise<Browser> {
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
export async function openTab(browser: Browser): Promise<Tab> {
  const context = await browser.newContext({ viewport: desktop, reducedMotion: 'reduce', colorScheme: 'light' })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return { page, context, complaints }
}

/** Lets the tab in by the address that the daemon printed when it started. */
export async function enterByAddress({ page }: Tab, world: Pick<World, 'enrolmentUrl'>): Promise<void> {
  await page.goto(world.enrolmentUrl)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}
