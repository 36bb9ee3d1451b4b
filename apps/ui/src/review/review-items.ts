import type { FileChange } from '@matrix/protocol/http'
import { type DiffLine, type Hunk, numberLines, pairLines, type SplitLine } from './diff-line.ts'
import { type Anchor, type ReviewComment, sideOf } from './review-comment.ts'

export type Layout = 'unified' | 'split'

/** The rows of a review from top to bottom. A file's hunks are there once they were loaded. */
export type ReviewItem =
  | { kind: 'file'; key: string; file: FileChange; isOpen: boolean }
  | { kind: 'notice'; key: string; file: FileChange; notice: 'loading' | 'binary' | 'submodule' | 'no lines' }
  | { kind: 'hunk'; key: string; file: FileChange; hunk: Hunk }
  | { kind: 'line'; key: string; file: FileChange; hunk: Hunk; line: DiffLine; partner: DiffLine | undefined }
  | { kind: 'pair'; key: string; file: FileChange; hunk: Hunk; pair: SplitLine }
  | { kind: 'comment'; key: string; file: FileChange; comment: ReviewComment }
  | { kind: 'editor'; key: string; file: FileChange; anchor: Anchor }

export type ReviewState = {
  layout: Layout
  isOpen: (file: FileChange) => boolean
  hunksOf: (file: FileChange) => readonly Hunk[] | undefined
  comments: readonly ReviewComment[]
  editing: Anchor | undefined
}

/** Past this many changed lines a file waits to be opened. */
const LONG = 400
const generated =
  /(^|\/)(pnpm-lock\.yaml|package-lock\.json|yarn\.lock|Cargo\.lock|go\.sum|.*\.min\.(js|css)|.*\.snap)$/

/** Whether a file is shown open before anybody has said anything. */
export function startsOpen(file: FileChange): boolean {
  if (file.status === 'deleted' || generated.test(file.path)) return false
  return (file.additions ?? 0) + (file.deletions ?? 0) <= LONG
}

export function toReviewItems(files: readonly FileChange[], state: ReviewState): ReviewItem[] {
  return files.flatMap((file) => {
    const isOpen = state.isOpen(file)
    const header: ReviewItem = { kind: 'file', key: `file:${file.path}`, file, isOpen }
    return isOpen ? [header, ...bodyOf(file, state)] : [header]
  })
}

function bodyOf(file: FileChange, state: ReviewState): ReviewItem[] {
  const hunks = state.hunksOf(file)
  const notice = noticeOf(file, hunks)
  if (notice) return [{ kind: 'notice', key: `notice:${file.path}`, file, notice }]
  const threads = collectThreads(file, state)
  const rows = (hunks ?? []).flatMap((hunk, index) => rowsOf(file, hunk, index, state.layout))
  return threads ? rows.flatMap((row) => [row, ...threads(row)]) : rows
}

type Notice = Extract<ReviewItem, { kind: 'notice' }>['notice']

function noticeOf(file: FileChange, hunks: readonly Hunk[] | undefined): Notice | undefined {
  if (file.isSubmodule) return 'submodule'
  if (file.isBinary) return 'binary'
  if (!hunks) return 'loading'
  return hunks.length === 0 ? 'no lines' : undefined
}

/** Comments, and the one being written, under the line they end with; nothing for a file without any. */
function collectThreads(
  file: FileChange,
  { comments, editing }: ReviewState,
): ((row: ReviewItem) => ReviewItem[]) | undefined {
  const byLine = new Map<string, ReviewItem[]>()
  const add = ({ side, to }: Anchor, item: ReviewItem) =>
    byLine.set(`${side}:${to}`, [...(byLine.get(`${side}:${to}`) ?? []), item])

  for (const comment of comments)
    if (comment.path === file.path) add(comment, { kind: 'comment', key: `comment:${comment.id}`, file, comment })
  if (editing?.path === file.path) add(editing, { kind: 'editor', key: 'editor', file, anchor: editing })
  if (byLine.size === 0) return undefined

  return (row) =>
    linesOf(row).flatMap((line) => {
      const place = sideOf(line)
      return place ? (byLine.get(`${place.side}:${place.number}`) ?? []) : []
    })
}

function linesOf(row: ReviewItem): DiffLine[] {
  if (row.kind === 'line') return [row.line]
  if (row.kind !== 'pair') return []
  const { left, right } = row.pair
  return [...(left && left !== right ? [left] : []), ...(right ? [right] : [])]
}

// What is typed into a comment must not lay a large diff out again.
const laidOut = new WeakMap<Hunk, Map<Layout, ReviewItem[]>>()

function rowsOf(file: FileChange, hunk: Hunk, index: number, layout: Layout): ReviewItem[] {
  const known = laidOut.get(hunk) ?? new Map<Layout, ReviewItem[]>()
  laidOut.set(hunk, known)
  const rows = known.get(layout) ?? layOut(file, hunk, `${file.path}:${index}`, layout)
  known.set(layout, rows)
  return rows
}

function layOut(file: FileChange, hunk: Hunk, key: string, layout: Layout): ReviewItem[] {
  const header: ReviewItem = { kind: 'hunk', key: `hunk:${key}`, file, hunk }
  const lines = numberLines(hunk)
  const pairs = pairLines(lines)
  if (layout === 'split')
    return [
      header,
      ...pairs.map((pair, row): ReviewItem => ({ kind: 'pair', key: `${key}:pair:${row}`, file, hunk, pair })),
    ]

  const partners = new Map(
    pairs.flatMap(({ left, right }) =>
      left && right && left !== right
        ? [
            [left, right],
            [right, left],
          ]
        : [],
    ),
  )
  return [
    header,
    ...lines.map(
      (line, row): ReviewItem => ({
        kind: 'line',
        key: `${key}:${row}`,
        file,
        hunk,
        line,
        partner: partners.get(line),
      }),
    ),
  ]
}
