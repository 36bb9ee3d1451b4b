import { plural } from '@matrix/protocol/display'
import type { ChangesView, TaskView } from '@matrix/protocol/http'
import { useParams, useSearch } from '@tanstack/react-router'
import { Columns2, Eye, FolderTree, Pilcrow, RefreshCw, Rows2 } from 'lucide-react'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { MissingPage } from '../app/missing-page.tsx'
import { useTask } from '../live/live.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Empty, ErrorState, Loading } from '../parts/states.tsx'
import { TaskHeader } from '../task/task-header.tsx'
import { type ChangesQuery, useChanges, useHunks } from './changes.ts'
import { DiffView } from './diff-view.tsx'
import { FileList } from './file-list.tsx'
import { MergeBar, shortBranch } from './merge-bar.tsx'
import { changeReview, useReviewDraft } from './review-draft.ts'
import type { Layout } from './review-items.ts'
import { SendBar } from './send-bar.tsx'

/** What a task has changed: to be read, commented and merged. */
export function ReviewPage() {
  const { projectId, taskId } = useParams({ from: '/p/$projectId/t/$taskId/review' })
  const task = useTask(projectId, taskId)
  if (!task) return <MissingPage />
  return (
    <div className="flex h-full flex-col">
      <TaskHeader task={task} />
      <Review key={task.id} task={task} />
    </div>
  )
}

function Review({ task }: { task: TaskView }) {
  const [ignoreWhitespace, setIgnoreWhitespace] = useState(false)
  const [isSinceLook, setSinceLook] = useState(false)
  const lookedAt = useLastLook(task.id)
  const since = isSinceLook ? lookedAt : undefined
  const query = useMemo(() => ({ ignoreWhitespace, since }), [ignoreWhitespace, since])
  const changes = useChanges(task, query)
  useRememberLook(task.id, changes.data?.head)

  if (changes.isPending) return <Loading label="Comparing" />
  if (changes.isError) return <ErrorState error={changes.error} onRetry={() => void changes.refetch()} />
  return (
    <Loaded
      task={task}
      changes={changes.data}
      query={query}
      lookedAt={lookedAt}
      isSinceLook={isSinceLook}
      onWhitespace={() => setIgnoreWhitespace((before) => !before)}
      onSinceLook={() => setSinceLook((before) => !before)}
      onRefresh={() => void changes.refetch()}
    />
  )
}

type LoadedProps = {
  task: TaskView
  changes: ChangesView
  query: ChangesQuery
  lookedAt: string | undefined
  isSinceLook: boolean
  onWhitespace: () => void
  onSinceLook: () => void
  onRefresh: () => void
}

function Loaded({ task, changes, query, lookedAt, isSinceLook, onWhitespace, onSinceLook, onRefresh }: LoadedProps) {
  const { path } = useSearch({ from: '/p/$projectId/t/$taskId/review' })
  const hunks = useHunks(task, changes, query)
  const [layout, setLayout] = useLayout()
  const [isTreeShown, setTreeShown] = useState(() => window.matchMedia('(min-width: 900px)').matches)
  const [current, setCurrent] = useState<string>()
  const [target, setTarget] = useState<{ path: string } | undefined>(path ? { path } : undefined)
  const { comments } = useReviewDraft(task.id)
  const { files } = changes
  const conflicts = useMemo(() => new Set(changes.conflicts), [changes.conflicts])
  const commented = useMemo(() => new Set(comments.map((comment) => comment.path)), [comments])

  const step = useCallback(
    (by: number) => {
      const at = files.findIndex((file) => file.path === current)
      const next = files[Math.min(files.length - 1, Math.max(0, at + by))]
      if (next) setTarget({ path: next.path })
    },
    [files, current],
  )
  useOffer(
    useMemo<Action[]>(
      () => [
        { id: 'review.next', label: 'Next file', group: 'Review', keys: 'j', run: () => step(1) },
        { id: 'review.previous', label: 'Previous file', group: 'Review', keys: 'k', run: () => step(-1) },
        {
          id: 'review.layout',
          label: 'Side by side or one below the other',
          group: 'Review',
          keys: 'u',
          run: () => setLayout(),
        },
        { id: 'review.whitespace', label: 'Ignore white space', group: 'Review', keys: 'w', run: onWhitespace },
      ],
      [step, setLayout, onWhitespace],
    ),
  )

  const hasNews = lookedAt !== undefined && lookedAt !== changes.head
  return (
    <>
      <MergeBar task={task} changes={changes} onMerged={onRefresh} />
      <div
        role="toolbar"
        aria-label="How the changes are shown"
        className="flex shrink-0 items-center gap-1 overflow-x-auto border-b bg-surface px-2 py-1"
      >
        <IconButton
          label="Show the files"
          size="small"
          aria-pressed={isTreeShown}
          onClick={() => setTreeShown((before) => !before)}
        >
          <FolderTree size={14} aria-hidden />
        </IconButton>
        <span className="px-1 text-ink-2 text-sm">{plural(files.length, 'file')}</span>
        <span className="flex-1" />
        {hasNews || isSinceLook ? (
          <Button
            size="small"
            look={isSinceLook ? 'primary' : 'plain'}
            aria-pressed={isSinceLook}
            icon={<Eye size={13} aria-hidden />}
            onClick={onSinceLook}
          >
            Since my last look
          </Button>
        ) : null}
        <Button
          size="small"
          look={query.ignoreWhitespace ? 'primary' : 'quiet'}
          aria-pressed={query.ignoreWhitespace}
          icon={<Pilcrow size={13} aria-hidden />}
          onClick={onWhitespace}
        >
          <span className="max-sm:sr-only">Ignore white space</span>
        </Button>
        <IconButton
          label={layout === 'split' ? 'One below the other' : 'Side by side'}
          size="small"
          onClick={() => setLayout()}
        >
          {layout === 'split' ? <Rows2 size={14} aria-hidden /> : <Columns2 size={14} aria-hidden />}
        </IconButton>
        <IconButton label="Compare again" size="small" onClick={onRefresh}>
          <RefreshCw size={14} aria-hidden />
        </IconButton>
      </div>
      {changes.isTruncated ? (
        <p role="status" className="shrink-0 bg-warn-soft px-4 py-1 text-warn">
          The change is too large to be compared in full; what is missing here is still part of the merge.
        </p>
      ) : null}
      {files.length === 0 ? (
        <Empty title={isSinceLook ? 'Nothing new since your last look' : 'Nothing to merge'}>
          {changes.uncommitted.length > 0
            ? `The agent has changed ${plural(changes.uncommitted.length, 'file')} and not committed yet.`
            : `Everything on this branch is in ${shortBranch(changes.targetBranch)} already.`}
        </Empty>
      ) : (
        <div className="relative flex min-h-0 flex-1">
          {isTreeShown ? (
            <div className="w-64 shrink-0 border-r bg-surface max-md:absolute max-md:inset-0 max-md:z-10 max-md:w-full">
              <FileList
                files={files}
                conflicts={conflicts}
                commented={commented}
                current={current}
                onPick={(picked) => {
                  setTarget({ path: picked })
                  if (!window.matchMedia('(min-width: 768px)').matches) setTreeShown(false)
                }}
              />
            </div>
          ) : null}
          <DiffView
            taskId={task.id}
            changes={changes}
            files={files}
            hunks={hunks}
            layout={layout}
            target={target}
            onCurrent={setCurrent}
          />
        </div>
      )}
      <SendBar task={task} head={changes.head} />
    </>
  )
}

const layoutKey = 'matrix.diff-layout'

/** Side by side needs room; what was chosen is remembered. */
function useLayout(): [Layout, () => void] {
  const [layout, setLayout] = useState<Layout>(() => {
    const kept = localStorage.getItem(layoutKey)
    if (kept === 'split' || kept === 'unified') return kept
    return window.matchMedia('(min-width: 1280px)').matches ? 'split' : 'unified'
  })
  const flip = useCallback(() => {
    setLayout((before) => {
      const next = before === 'split' ? 'unified' : 'split'
      localStorage.setItem(layoutKey, next)
      return next
    })
  }, [])
  return [layout, flip]
}

/** The commit that was looked at when this review was opened before, whatever is looked at meanwhile. */
function useLastLook(taskId: string): string | undefined {
  const { lastLook } = useReviewDraft(taskId)
  const [atFirst] = useState(lastLook)
  return atFirst ?? undefined
}

const lookMs = 3000

/** A commit counts as looked at after a few seconds with the changes on the screen. */
function useRememberLook(taskId: string, head: string | undefined): void {
  useEffect(() => {
    if (!head) return
    const timer = setTimeout(() => changeReview(taskId, { lastLook: head }), lookMs)
    return () => clearTimeout(timer)
  }, [taskId, head])
}
