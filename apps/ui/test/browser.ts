import { existsSync } from 'node:fs'
import { describe } from 'vitest'
import { chromiumPath } from './browser-tab.ts'

const isThere = existsSync(chromiumPath)

if (!isThere) {
  const advice = `No browser at ${chromiumPath}. Install one with: apt-get install -y --no-install-recommends chromium`
  // Where everything is checked, a test that did not run is a test that failed.
  if (process.env.CI) throw new Error(advice)
  console.warn(`\n  THE BROWSER TESTS DO NOT RUN. ${advice}\n`)
}

/** Tests that need a browser: left out with a loud word where there is none. */
export const describeInBrowser = describe.skipIf(!isThere)

export {
  desktop,
  enterByAddress,
  enterByCode,
  openTab,
  openVisit,
  phone,
  type Tab,
  touchPhone,
  type Visit,
} from './browser-tab.ts'
