import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findCycles } from './cycles.ts'
import { root } from './root.ts'

let clone: string
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'matrix-cycles-'))
  write('pnpm-workspace.yaml', 'packages:\n  - packages/*\n')
  write('packages/tree/package.json', '{ "name": "@matrix/tree" }')
})
afterEach(() => rmSync(clone, { recursive: true }))

test('no files of this repository import each other in a circle, beside those that are being taken apart', () => {
  expect(findCycles(root)).toEqual([expect.arrayContaining(['packages/orchestrator/src/launch.ts'])])
})

test.each([
  ['values', "import { b } from './b.ts'"],
  ['types', "import type { B } from './b.ts'"],
  ['an import type', "export type A = import('./b.ts').B"],
  ['a re-export', "export { b } from './b.ts'"],
])('two files that import each other by %s are a circle', (_, source) => {
  write('packages/tree/src/a.ts', source)
  write('packages/tree/src/b.ts', "import { a } from './a.ts'")

  expect(findCycles(clone)).toEqual([['packages/tree/src/a.ts', 'packages/tree/src/b.ts']])
})

test('a file that imports itself is a circle', () => {
  write('packages/tree/src/a.ts', "import { a } from './a.ts'")

  expect(findCycles(clone)).toEqual([['packages/tree/src/a.ts']])
})

test('a module that is loaded when it is needed closes no circle', () => {
  write('packages/tree/src/a.ts', "export const load = () => import('./b.ts')")
  write('packages/tree/src/b.ts', "import { load } from './a.ts'")

  expect(findCycles(clone)).toEqual([])
})

test('files are in one circle exactly if each can be reached from the other', () => {
  const edges = fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { maxLength: 16 })
  fc.assert(
    fc.property(edges, (pairs) => {
      const name = (index: number) => `packages/tree/src/f${index}.ts`
      for (let index = 0; index <= 6; index++) {
        const own = pairs.filter(([from]) => from === index)
        write(name(index), own.map(([, to]) => `import './f${to}.ts'`).join('\n'))
      }
      const circles = findCycles(clone)

      for (let a = 0; a <= 6; a++)
        for (let b = 0; b <= 6; b++) {
          const isTogether = circles.some((circle) => circle.includes(name(a)) && circle.includes(name(b)))
          expect(isTogether).toBe(isReached(pairs, a, b) && isReached(pairs, b, a))
        }
    }),
  )
})

function isReached(pairs: [number, number][], from: number, to: number): boolean {
  const seen = new Set<number>()
  const open = [from]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [start, end] of pairs) {
      if (start !== next || seen.has(end)) continue
      seen.add(end)
      open.push(end)
    }
  }
  return seen.has(to)
}

function write(file: string, text: string): void {
  mkdirSync(dirname(join(clone, file)), { recursive: true })
  writeFileSync(join(clone, file), text)
}
