import type { QueueMessage } from '@matrix/protocol'
import { displayMessage } from '@matrix/protocol/display'
import { useMutation } from '@tanstack/react-query'
import { Clock, Pencil, Undo2 } from 'lucide-react'
import { client } from '../live/client.ts'
import type { Session } from '../live/session.ts'
import { Button } from '../parts/button.tsx'
import { MessageBodies } from './message-view.tsx'

type PendingMessageProps = { message: QueueMessage; session: Session; onEdit: (text: string) => void }

/** A message that is stored and not yet read: until it is, it can be taken back or written anew. */
export function PendingMessage({ message, session, onEdit }: PendingMessageProps) {
  const shown = displayMessage(message)
  const { projectId, taskId } = session
  const withdraw = useMutation({
    mutationFn: (_: 'withdraw' | 'edit') => client.withdrawMessage({ projectId, taskId, messageId: message.id }),
    onSuccess: (_, why) => {
      if (why === 'edit' && message.source === 'user') onEdit(message.text)
      session.forgetPending(message.id)
    },
  })
  const isMine = message.source === 'user'

  return (
    <article aria-label="Not read yet" className="my-2 rounded-lg border border-dashed border-line-strong px-3 py-2">
      <header className="flex flex-wrap items-center gap-2 text-ink-2 text-sm">
        <Clock size={13} aria-hidden />
        <span className="font-medium">{shown.title}</span>
        <span>· not read yet</span>
        <span className="flex-1" />
        {isMine ? (
          <>
            <Button
              size="small"
              look="quiet"
              icon={<Pencil size={12} aria-hidden />}
              isBusy={withdraw.isPending}
              onClick={() => withdraw.mutate('edit')}
            >
              Edit
            </Button>
            <Button
              size="small"
              look="quiet"
              icon={<Undo2 size={12} aria-hidden />}
              isBusy={withdraw.isPending}
              onClick={() => withdraw.mutate('withdraw')}
            >
              Withdraw
            </Button>
          </>
        ) : null}
      </header>
      <MessageBodies shown={shown} />
    </article>
  )
}
