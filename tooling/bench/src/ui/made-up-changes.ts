import type { ChangesView } from '@matrix/protocol/http'

/** What a branch would bring: plain files, a picture and two that are far too long. */
export function makeUpChanges(query: URLSearchParams): ChangesView {
  const paths = [
    'src/app/router.ts',
    'src/app/main.ts',
    'src/live/session.ts',
    'docs/guide.md',
    'pnpm-lock.yaml',
    'assets/logo.png',
    'src/huge.ts',
  ]
  const files = paths.map((path) => {
    const isHuge = path === 'src/huge.ts' || path === 'pnpm-lock.yaml'
    const isBinary = path.endsWith('.png')
    return {
      path,
      status: path === 'docs/guide.md' ? ('added' as const) : ('modified' as const),
      additions: isBinary ? null : isHuge ? 50_000 : 6,
      deletions: isBinary ? null : isHuge ? 20_000 : 2,
      isBinary,
      isSubmodule: false,
      ...(query.get('hunks') === 'true' ? { hunks: isBinary ? [] : makeUpHunks(isHuge ? 7000 : 2) } : {}),
    }
  })
  const wanted = query.get('path')
  return {
    branch: 'mxd/01M/task-1',
    targetBranch: 'main',
    base: 'a'.repeat(40),
    head: 'b'.repeat(40),
    mergeBase: 'a'.repeat(40),
    ahead: 3,
    behind: 2,
    files: wanted ? files.filter(({ path }) => path === wanted) : files,
    additions: 100_018,
    deletions: 40_008,
    conflicts: ['src/app/router.ts'],
    flagged: [],
    isTruncated: false,
    uncommitted: ['notes.txt'],
  }
}

function makeUpHunks(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    oldStart: 1 + index * 20,
    oldLines: 7,
    newStart: 1 + index * 22,
    newLines: 9,
    heading: `export function part${index}()`,
    lines: [
      ' import { one } from "./one"',
      `-export function part${index}(input) {`,
      `+export function part${index}(input: string): string {`,
      '+  // Empty means nothing was said.',
      `+  if (input === "") return "nothing ${index}"`,
      '   const words = input.split(" ")',
      '-  return words.join()',
      '+  return words.map((word) => word.trim()).filter(Boolean).join(" ")',
      ' }',
    ],
  }))
}
