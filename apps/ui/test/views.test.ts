import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeInBrowser, desktop, enterByAddress, openVisit, phone, type Tab, type Visit } from './browser.ts'
import { openStage, type Stage } from './stage.ts'
import { views } from './views.ts'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const looks = [
  { name: 'light', viewport: desktop, colorScheme: 'light' },
  { name: 'dark', viewport: desktop, colorScheme: 'dark' },
  { name: 'on a phone', viewport: phone, colorScheme: 'light' },
] as const

describeInBrowser('every view', () => {
  let stage: Stage
  let visit: Visit<Stage>
  let tab: Tab
  let page: Page

  beforeAll(async () => {
    visit = await openVisit(openStage())
    stage = visit.place
    tab = visit.tab
    page = visit.page
    await enterByAddress(tab, stage)
  })
  afterAll(() => visit?.close())

  describe.each(looks)('$name', ({ viewport, colorScheme }) => {
    test.each(views)('$name is readable for everybody and fits the screen', async ({ path, ready }) => {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      await page.goto(`${stage.url}${path(stage)}`)
      await ready(page)

      expect(await findBarriers(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    })
  })

  test('the palette and the list of keys too', async () => {
    await page.setViewportSize(desktop)
    await page.goto(stage.url)
    await page.getByRole('article').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    expect(await findBarriers(page)).toEqual([])

    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
  })

  test('and none of them made the console complain', () => {
    expect(tab.complaints.filter((text) => !/status of (401|403)/.test(text))).toEqual([])
  })
})

/** What axe finds against WCAG 2.2 A and AA, in words short enough to be read in a failed test. */
async function findBarriers(page: Page): Promise<string[]> {
  // The policy of the daemon allows no script from elsewhere; the debugger's own evaluation is not held by it.
  await page.evaluate(await readFile(axe, 'utf8'))
  const results = (await page.evaluate(`axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    rules: {
      // A row of the tree is named after its task; its cost and its age are not part of that name.
      'label-content-name-mismatch': { enabled: false },
      region: { enabled: false },
    },
    resultTypes: ['violations'],
  })`)) as AxeResults
  return results.violations
    .map(withoutCode)
    .flatMap(({ id, help, nodes }) =>
      nodes.slice(0, 3).map(({ html, any }) => `${id}: ${help}: ${html.slice(0, 160)} ${any[0]?.message ?? ''}`),
    )
}

/** A line of code is as high as a line of code: what is done by clicking on one is left out of the measure. */
function withoutCode(found: AxeResults['violations'][number]): AxeResults['violations'][number] {
  if (found.id !== 'target-size') return found
  return { ...found, nodes: found.nodes.filter(({ html }) => !html.includes('Comment on line')) }
}
