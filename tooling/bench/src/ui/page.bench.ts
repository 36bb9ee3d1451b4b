/// <reference lib="dom" />
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import type { Benchmark, Figure } from '../figure.ts'
import { startMadeUpDaemon } from './made-up-daemon.ts'

const dist = fileURLToPath(new URL('../../../../apps/ui/dist', import.meta.url))
const project = '/p/01M0NA00000000000000000000'
const views = {
  conversation: { path: `${project}/t/01M0NA00000000000000000002`, scroller: '[role=log]' },
  tree: { path: project, scroller: '#main' },
}
type ViewName = keyof typeof views

const scrollMs = 8000
/** How long the page is watched for memory that is not given back; ten minutes are what is promised. */
const watchMs = Number(process.env.MATRIX_BENCH_WATCH_MS ?? 20_000)

/** The page with a conversation of 100,000 events and a tree of 1,000 tasks, 100 of whose agents speak all the time. */
export const benchmark: Benchmark = {
  name: 'the page under load',
  async measure(): Promise<Figure[]> {
    const daemon = await startMadeUpDaemon({
      port: 0,
      tasks: 1000,
      working: 100,
      events: 100_000,
      dist,
      framesPerSecond: 500,
    })
    const browser = await launch()
    try {
      return [
        ...(await measureLoad(browser, daemon.url)),
        ...(await measureUse(browser, daemon.url, 'conversation')),
        ...(await measureUse(browser, daemon.url, 'tree')),
        ...(await measureMemory(browser, daemon.url)),
      ]
    } finally {
      await browser.close()
      daemon.close()
    }
  },
}

function launch(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
  return chromium.launch({
    executablePath: process.env.MATRIX_CHROMIUM ?? '/usr/bin/chromium',
    args: [...args, '--enable-precise-memory-info', '--js-flags=--expose-gc'],
  })
}

async function openPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.addInitScript(() => sessionStorage.setItem('matrix.csrf', 'made-up'))
  return page
}

async function measureLoad(browser: Browser, url: string): Promise<Figure[]> {
  // A browser that has just started is still busy with itself.
  const first = await openPage(browser)
  await first.goto('about:blank')
  await first.waitForTimeout(2000)
  await first.close()
  const loads = []
  for (let load = 0; load < 5; load += 1) loads.push(await loadOnce(browser, url))
  const [scripts] = loads.map((one) => one.scripts)
  const sizes = await Promise.all(
    [...(scripts ?? [])].map(async (path) => gzipSync(await readFile(`${dist}${path}`)).length),
  )
  const middle = loads.map(({ answersAfter }) => answersAfter).toSorted((a, b) => a - b)[2] ?? 0
  return [
    target('script before the first paint', 'kB', sizes.reduce((sum, size) => sum + size, 0) / 1000, 200),
    target('from the address to an inbox that can be answered, the middle of 5', 'ms', middle, 1000),
  ]
}

async function loadOnce(browser: Browser, url: string): Promise<{ scripts: Set<string>; answersAfter: number }> {
  const page = await openPage(browser)
  const seen = new Set<string>()
  page.on('response', (response) => {
    if (response.url().endsWith('.js')) seen.add(new URL(response.url()).pathname)
  })
  await page.goto(url)
  const scripts = new Set(seen)
  // Looked at from within: somebody who asks from outside has to wait for the same thread that is measured.
  const answersAfter = await page.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      if (document.querySelector('article')) setTimeout(() => resolve(performance.now()))
      else requestAnimationFrame(look)
    }
    look()
  })`)
  await page.context().close()
  return { scripts, answersAfter }
}

async function openView(browser: Browser, url: string, what: ViewName): Promise<{ page: Page; devtools: CDPSession }> {
  const page = await openPage(browser)
  await page.goto(`${url}${views[what].path}`)
  await page.locator(views[what].scroller).waitFor()
  await page.waitForTimeout(3000)
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  return { page, devtools }
}

async function measureUse(browser: Browser, url: string, what: ViewName): Promise<Figure[]> {
  const { page, devtools } = await openView(browser, url, what)
  const { frameMs, workMs } = await measureFrames(page, devtools, views[what].scroller)
  const floor = await measureEmptyPage(browser)
  const delay =
    what === 'conversation'
      ? [target('input delay while 100 agents speak, p95', 'ms', await measureTyping(page), 100)]
      : []
  await page.close()
  const against = 'an empty page that scrolls at the same time'
  return [
    { name: `a frame while the ${what} scrolls`, unit: 'ms', ours: frameMs, floor, against, limit: 1.2 },
    target(`work for such a frame (50 a second leave 20)`, 'ms', workMs, 20),
    ...delay,
  ]
}

/** Both views are watched at once, each for the whole time. */
async function measureMemory(browser: Browser, url: string): Promise<Figure[]> {
  const names: ViewName[] = ['conversation', 'tree']
  const open = await Promise.all(names.map(async (what) => ({ what, ...(await openView(browser, url, what)) })))
  const before = await Promise.all(open.map(({ devtools }) => heapOf(devtools)))
  await new Promise((resolve) => setTimeout(resolve, watchMs))
  const after = await Promise.all(open.map(({ devtools }) => heapOf(devtools)))
  const whole = await largestRenderer(browser)
  await Promise.all(open.map(({ page }) => page.close()))
  const heaps = names.flatMap((what, index) => {
    const [start = 0, end = 0] = [before[index], after[index]]
    const flat = Math.max(start, 40) * 1.25
    return [
      target(`memory of the ${what}`, 'MB', end, 300),
      target(`memory of the ${what} after ${watchMs / 1000} s, against ${start.toFixed(1)} MB before`, 'MB', end, flat),
    ]
  })
  return [...heaps, ...(whole ? [target('everything the larger of their two processes holds', 'MB', whole, 300)] : [])]
}

/** What a page costs the machine: scripts, layout and pictures. Only Linux tells. */
async function largestRenderer(browser: Browser): Promise<number | undefined> {
  const devtools = await browser.newBrowserCDPSession()
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo')
  const renderers = processInfo.filter(({ type }) => type === 'renderer')
  const sizes = await Promise.all(
    renderers.map(async ({ id }) => {
      const text = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '')
      return [...text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].reduce((sum, [, kB]) => sum + Number(kB) / 1000, 0)
    }),
  )
  return Math.max(0, ...sizes) || undefined
}

/** What the machine can do at all at this moment. */
async function measureEmptyPage(browser: Browser): Promise<number> {
  const page = await openPage(browser)
  await page.setContent(
    '<body style="margin:0"><main style="height:900px;overflow:auto"><div style="height:1000000px">',
  )
  const devtools = await page.context().newCDPSession(page)
  const { frameMs } = await measureFrames(page, devtools, 'main')
  await page.close()
  return frameMs
}

/** The mean time from one frame to the next while the wheel turns, and how much of it the page's own thread was at work. */
async function measureFrames(
  page: Page,
  devtools: CDPSession,
  scroller: string,
): Promise<{ frameMs: number; workMs: number }> {
  const box = await page.locator(scroller).first().boundingBox()
  if (!box) throw new Error(`Nothing to scroll at ${scroller}`)
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  // As text: what tsx makes of a function with a name does not run in a page.
  await page.evaluate(`window.frames_ = []
    requestAnimationFrame(function note(at) { window.frames_.push(at); requestAnimationFrame(note) })`)
  const before = await metricOf(devtools, 'TaskDuration')
  const end = Date.now() + scrollMs
  for (let step = 0; Date.now() < end; step += 1) {
    await page.mouse.wheel(0, step % 40 < 30 ? -400 : 400)
    await page.waitForTimeout(16)
  }
  const frames = await page.evaluate<number[]>('window.frames_')
  const worked = (await metricOf(devtools, 'TaskDuration')) - before
  return {
    frameMs: ((frames.at(-1) ?? 0) - (frames[0] ?? 0)) / (frames.length - 1),
    workMs: (worked * 1000) / frames.length,
  }
}

/** From a key to the picture that shows its letter, at the 95th of 100 keys. Those under 16 ms are not reported one by one. */
async function measureTyping(page: Page): Promise<number> {
  const keys = 60
  await page.getByLabel('Message', { exact: true }).click()
  await page.evaluate(`window.delays_ = []
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === 'keydown') window.delays_.push(entry.duration)
    }).observe({ type: 'event', durationThreshold: 16 })`)
  await page.keyboard.type('The quick brown fox jumps over the lazy dog. '.repeat(2).slice(0, keys), { delay: 60 })
  await page.waitForTimeout(500)
  const slow = await page.evaluate<number[]>('window.delays_')
  const all = [...slow, ...Array.from({ length: Math.max(0, keys - slow.length) }, () => 16)].sort((a, b) => a - b)
  return all[Math.floor(all.length * 0.95)] ?? 0
}

/** What the page's scripts hold after everything that can be given back was. */
async function heapOf(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  return (await metricOf(devtools, 'JSHeapUsedSize')) / 1e6
}

async function metricOf(devtools: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === wanted)?.value ?? 0
}

function target(name: string, unit: string, ours: number, most: number): Figure {
  return { name, unit, ours, floor: most, against: 'what is promised', limit: 1 }
}
