import { plural } from '@matrix/protocol/display'
import type { TaskView } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { SendHorizontal } from 'lucide-react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Button } from '../parts/button.tsx'
import { TextArea } from '../parts/field.tsx'
import { formatReview } from './review-comment.ts'
import { changeReview, useReviewDraft } from './review-draft.ts'

type SendBarProps = { task: TaskView; head: string }

/** All comments and a word about the whole, on their way to the agent as one message. */
export function SendBar({ task, head }: SendBarProps) {
  const { comments, summary } = useReviewDraft(task.id)
  const send = useMutation({
    mutationFn: () =>
      client.sendMessage({
        projectId: task.projectId,
        taskId: task.id,
        body: { text: formatReview(comments, { head, summary }), requestId: crypto.randomUUID() },
      }),
    onSuccess: () => {
      changeReview(task.id, { comments: [], summary: '', lastLook: head })
      sayDone('Sent back', 'The agent gets all comments as one message.')
    },
  })
  if (comments.length === 0 && summary === '') return null

  return (
    <form
      aria-label="Send the review"
      className="flex shrink-0 items-end gap-2 border-t bg-raised px-4 py-2 shadow-lift max-sm:flex-col max-sm:items-stretch"
      onSubmit={(event) => {
        event.preventDefault()
        send.mutate()
      }}
    >
      <TextArea
        rows={1}
        aria-label="About the whole change"
        placeholder="About the whole change (optional)"
        value={summary}
        onChange={(event) => changeReview(task.id, { summary: event.target.value })}
      />
      <Button type="submit" look="primary" isBusy={send.isPending} icon={<SendHorizontal size={14} aria-hidden />}>
        Send {comments.length > 0 ? plural(comments.length, 'comment') : 'review'}
      </Button>
    </form>
  )
}
