import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { enterByAddress, enterByCode, openTab, openVisit, touchPhone } from './browser-tab.ts'
import { openStage } from './stage.ts'
import { views } from './views.ts'
import { openDemoWorld } from './world.ts'

/** Takes a picture of every main view as it really is, for the documentation. */
const folder = fileURLToPath(new URL('../../../docs/screenshots', import.meta.url))
await mkdir(folder, { recursive: true })
const { place: stage, browser, tab, page, close } = await openVisit(openStage())

try {
  await enterByAddress(tab, stage)
  const take = async (name: string, page = tab.page) => {
    await page.evaluate(() => document.fonts.ready)
    // What fades in or is coloured a moment later belongs into the picture.
    await page.waitForTimeout(600)
    await page.screenshot({ path: `${folder}/${name}.png` })
    console.log(`docs/screenshots/${name}.png`)
  }
  const goTo = async (wanted: string, page = tab.page) => {
    const view = views.find(({ name }) => name === wanted)
    if (!view) throw new Error(`There is no view called ${wanted}.`)
    await page.goto(`${stage.url}${view.path(stage)}`)
    await view.ready(page)
  }

  for (const { name } of views) {
    await goTo(name)
    await take(name)
  }

  await goTo('tree')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('discount')
  await page.getByRole('option').nth(3).waitFor()
  await take('palette')

  await page.emulateMedia({ colorScheme: 'dark' })
  for (const name of ['inbox', 'conversation', 'review']) {
    await goTo(name)
    await take(`${name}-dark`)
  }

  const inHand = await openTab(browser, touchPhone)
  await enterByCode(inHand, stage)
  for (const name of ['inbox', 'tree', 'conversation', 'review']) {
    await goTo(name, inHand.page)
    await take(`${name}-phone`, inHand.page)
  }

  const stranger = await openTab(browser)
  await stranger.page.goto(stage.url)
  await stranger.page.getByRole('heading', { name: 'Add this browser' }).waitFor()
  await take('sign-in', stranger.page)

  const demo = await openDemoWorld()
  try {
    const newcomer = await openTab(browser)
    await enterByAddress(newcomer, demo)
    await newcomer.page.getByText('Pick an answer in the inbox').first().waitFor({ timeout: 60_000 })
    await newcomer.page.goto(demo.url)
    await newcomer.page.getByRole('button', { name: '€' }).waitFor()
    await newcomer.page.getByRole('complementary', { name: 'A first look' }).waitFor()
    await take('first-visit', newcomer.page)
  } finally {
    await demo.close()
  }
} finally {
  await close()
}
