import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

type Chunk = { file: string; isEntry?: boolean; imports?: string[]; dynamicImports?: string[] }

const built = fileURLToPath(new URL('../dist', import.meta.url))
const chunks: Record<string, Chunk> = JSON.parse(readFileSync(`${built}/.vite/manifest.json`, 'utf8'))

test('less than 200 kB of gzipped script stand before the first paint of the inbox', () => {
  const first = [...loadedBy('index.html'), ...loadedBy('src/overview/inbox-page.tsx')]
  const bytes = [...new Set(first)].reduce((sum, file) => sum + gzipSync(readFileSync(`${built}/${file}`)).length, 0)

  expect(bytes).toBeLessThan(200_000)
})

test('what is heavy comes only when it is needed: highlighter, Markdown, charts, drag and drop', () => {
  const first = loadedBy('index.html')
  const text = first.map((file) => readFileSync(`${built}/${file}`, 'utf8')).join()

  for (const heavy of ['shiki', 'mdast', 'uPlot', 'DndContext', 'ZodObject']) expect(text).not.toContain(heavy)
})

test('no script holds zod, which tries to evaluate text and is refused by the policy of the page', () => {
  const scripts = readdirSync(`${built}/assets`).filter((name) => name.endsWith('.js'))

  expect(scripts.filter((name) => readFileSync(`${built}/assets/${name}`, 'utf8').includes('ZodObject'))).toEqual([])
})

test('the page holds no script and no style of its own, so that the strictest policy lets it work', () => {
  const html = readFileSync(`${built}/index.html`, 'utf8')

  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|<style|\son\w+=|javascript:/i)
})

function loadedBy(name: string): string[] {
  const chunk = chunks[name]
  if (!chunk) throw new Error(`The build holds no ${name}.`)
  return [chunk.file, ...(chunk.imports ?? []).flatMap(loadedBy)]
}
