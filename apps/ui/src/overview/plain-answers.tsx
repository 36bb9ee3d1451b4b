import type { Attention } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useTask } from '../live/live.ts'
import { Button } from '../parts/button.tsx'
import { Markdown } from '../parts/markdown.tsx'

const linkLook =
  'inline-flex h-8 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-accent-ink hover:brightness-110 pointer-coarse:h-10'

export function ReviewAnswer({ item }: { item: Attention }) {
  const dismiss = useDismissal(item)
  return (
    <div className="flex flex-col gap-3">
      <Markdown text={item.text} />
      <div className="flex gap-2">
        <Link to="/p/$projectId/t/$taskId/review" params={item} className={linkLook}>
          Review the changes
        </Link>
        <Button shortcut="e" isBusy={dismiss.isPending} onClick={() => dismiss.mutate()}>
          Seen
        </Button>
      </div>
    </div>
  )
}

export function ConflictAnswer({ item }: { item: Attention }) {
  const { projectId, taskId, files = [] } = item
  const ask = useMutation({
    mutationFn: () =>
      client.sendMessage({
        projectId,
        taskId,
        body: {
          text: `Your branch conflicts with its target in: ${files.join(', ')}. Merge the target into your branch, resolve the conflicts, run the tests, and say when it is done.`,
        },
      }),
    onSuccess: () => sayDone('The agent was asked to resolve it', item.taskTitle),
  })
  useKey('inbox.resolve', 'Ask the agent to resolve the conflict', 'r', ask.mutate)

  return (
    <div className="flex flex-col gap-3">
      <p>{item.text}</p>
      <ul className="rounded-md bg-sunken px-3 py-2 font-mono text-sm">
        {files.map((file) => (
          <li key={file} className="break-all">
            {file}
          </li>
        ))}
      </ul>
      <div className="flex gap-2">
        <Button look="primary" shortcut="r" isBusy={ask.isPending} onClick={() => ask.mutate()}>
          Ask the agent to resolve it
        </Button>
        <Link
          to="/p/$projectId/t/$taskId/review"
          params={item}
          className="inline-flex h-8 items-center rounded-md border bg-surface px-3 font-medium hover:bg-hover pointer-coarse:h-10"
        >
          Look at the changes
        </Link>
      </div>
    </div>
  )
}

export function FailureAnswer({ item }: { item: Attention }) {
  const { projectId, taskId } = item
  const problem = useTask(projectId, taskId)?.problem
  const dismiss = useDismissal(item)
  const again = useMutation({
    mutationFn: () => client.sendMessage({ projectId, taskId, body: { text: 'Try again.' } }),
    onSuccess: () => sayDone('The agent tries again', item.taskTitle),
  })
  useKey('inbox.retry', 'Let the agent try again', 'r', again.mutate)

  return (
    <div className="flex flex-col gap-3">
      <div>
        <p className="break-words">{item.text}</p>
        {problem ? <p className="mt-1 text-ink-2">{problem.hint}</p> : null}
      </div>
      <div className="flex gap-2">
        <Button look="primary" shortcut="r" isBusy={again.isPending} onClick={() => again.mutate()}>
          Try again
        </Button>
        <Link
          to="/p/$projectId/t/$taskId"
          params={item}
          className="inline-flex h-8 items-center rounded-md border bg-surface px-3 font-medium hover:bg-hover pointer-coarse:h-10"
        >
          See what happened
        </Link>
        <Button look="quiet" shortcut="e" isBusy={dismiss.isPending} onClick={() => dismiss.mutate()}>
          Seen
        </Button>
      </div>
    </div>
  )
}

/** Only what holds nobody up can be put aside. */
function useDismissal(item: Attention) {
  const dismiss = useMutation({ mutationFn: () => client.dismissAttention({ attentionId: item.id }) })
  useKey('inbox.seen', 'Put aside as seen', 'e', dismiss.mutate)
  return dismiss
}

function useKey(id: string, label: string, keys: string, run: () => void): void {
  useOffer(useMemo((): Action[] => [{ id, label, group: 'Inbox', keys, run }], [id, label, keys, run]))
}
