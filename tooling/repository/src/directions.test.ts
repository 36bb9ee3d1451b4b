import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findDetours } from './directions.ts'
import { root } from './root.ts'

let clone: string
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'matrix-directions-'))
  write('pnpm-workspace.yaml', 'packages:\n  - packages/*\n  - apps/*\n  - tooling/*\n')
  for (const name of ['protocol', 'manifest', 'mock-provider', 'event-store', 'task-tree']) member(`packages/${name}`)
  for (const name of ['cli', 'ui']) member(`apps/${name}`)
})
afterEach(() => rmSync(clone, { recursive: true }))

test('no package of this repository depends or imports sideways', () => {
  expect(findDetours(root)).toEqual([])
})

test('what stands below in the picture may be used', () => {
  member('packages/manifest', { dependencies: { '@matrix/protocol': 'workspace:*', zod: 'catalog:' } })
  write('packages/manifest/src/lock.ts', "import { MatrixError } from '@matrix/protocol'\nimport * as z from 'zod'\n")

  expect(findDetours(clone)).toEqual([])
})

test.each([
  ['a static import', "import { openSession } from '@matrix/event-store'"],
  ['a type', "import type { Session } from '@matrix/event-store'"],
  ['an import type', "export type Session = import('@matrix/event-store').Session"],
  ['a re-export', "export { openSession } from '@matrix/event-store'"],
  ['a dynamic import', "export const store = await import('@matrix/event-store')"],
  ['a require', "export const store = require('@matrix/event-store')"],
  ['a subpath', "import { fakeSession } from '@matrix/event-store/testing'"],
])('%s of a neighbour is refused with its file and line', (_, source) => {
  write('packages/task-tree/src/tree.ts', `// A tree.\n\n${source}\n`)

  expect(findDetours(clone)).toEqual([
    'packages/task-tree/src/tree.ts:3: @matrix/task-tree may not use @matrix/event-store (it may use @matrix/protocol): move what both need further down.',
  ])
})

test('an import upwards is refused', () => {
  write('packages/protocol/src/event.ts', "import { parse } from '@matrix/manifest'\n")

  expect(findDetours(clone)).toEqual([
    'packages/protocol/src/event.ts:1: @matrix/protocol may not use @matrix/manifest (it may use nothing of Matrix): move what both need further down.',
  ])
})

test.each(['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'])(
  'a neighbour among the %s is refused with its line in package.json',
  (kind) => {
    member('apps/ui', { [kind]: { react: '19', '@matrix/manifest': 'workspace:*' } })

    expect(findDetours(clone)).toEqual([
      expect.stringMatching(/^apps\/ui\/package\.json:5: @matrix\/ui may not use @matrix\/manifest \(it may use /),
    ])
  },
)

test('the name of a package in a comment or a string is not an import', () => {
  write('packages/protocol/src/a.ts', "// import '@matrix/manifest'\nexport const text = \"from '@matrix/manifest'\"\n")

  expect(findDetours(clone)).toEqual([])
})

test('a relative import that leaves the package is refused, also from a test', () => {
  write('apps/cli/src/verify.test.ts', "import { parse } from '../../../packages/manifest/src/index.ts'\n")

  expect(findDetours(clone)).toEqual([
    "apps/cli/src/verify.test.ts:1: packages/manifest/src/index.ts is outside of apps/cli: import it by its package's name.",
  ])
})

test('the shared test configuration at the root may be imported', () => {
  write('apps/cli/vitest.config.ts', "import { packageTests } from '../../vitest.base.ts'\n")

  expect(findDetours(clone)).toEqual([])
})

test('only tests may play against the mock provider', () => {
  member('packages/event-store', { devDependencies: { '@matrix/mock-provider': 'workspace:*' } })
  write('packages/event-store/src/session.test.ts', "import { play } from '@matrix/mock-provider'\n")
  expect(findDetours(clone)).toEqual([])

  write('packages/event-store/src/session.ts', "import { play } from '@matrix/mock-provider'\n")
  expect(findDetours(clone)).toEqual([expect.stringContaining('packages/event-store/src/session.ts:1: ')])
})

test('the protocol does without the mock provider even in its tests, since that one needs the protocol', () => {
  member('packages/protocol', { devDependencies: { '@matrix/mock-provider': 'workspace:*' } })

  expect(findDetours(clone)).toEqual([expect.stringContaining('packages/protocol/package.json:4: ')])
})

test('tooling may use every package, and none may use tooling', () => {
  member('tooling/bench', { name: '@matrix/tooling-bench', devDependencies: { '@matrix/manifest': 'workspace:*' } })
  expect(findDetours(clone)).toEqual([])

  write('apps/cli/src/bench.ts', "import { measure } from '@matrix/tooling-bench'\n")
  expect(findDetours(clone)).toEqual([expect.stringContaining('apps/cli/src/bench.ts:1: ')])
})

test('a package nobody has placed in the picture is refused', () => {
  member('packages/newcomer')

  expect(findDetours(clone)).toEqual([
    'packages/newcomer/package.json:1: @matrix/newcomer is not in the picture: add it to directions.ts.',
  ])
})

function member(folder: string, fields: object = {}): void {
  write(`${folder}/package.json`, JSON.stringify({ name: `@matrix/${folder.split('/')[1]}`, ...fields }, null, 2))
}

function write(file: string, text: string): void {
  mkdirSync(dirname(join(clone, file)), { recursive: true })
  writeFileSync(join(clone, file), text)
}
