import { plural } from '@matrix/protocol/display'
import { useMutation } from '@tanstack/react-query'
import { useTask } from '../live/live.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ErrorState } from '../parts/states.tsx'
import { rewindTo, type TaskPlace } from './task-commands.ts'

/** Says what taking a conversation back does before it is done. */
export function RewindDialog({ place, seq, onClose }: { place: TaskPlace; seq: number; onClose: () => void }) {
  const task = useTask(place.projectId, place.taskId)
  const isAtWork = task !== undefined && task.activity !== 'off' && task.activity !== 'stopped'
  const after = Math.max(0, (task?.lastSeq ?? seq) - seq)
  const rewind = useMutation({
    mutationFn: () => rewindTo(place, seq, isAtWork),
    onSuccess: onClose,
    meta: { quiet: true },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      width="narrow"
      title={`Rewind to event ${seq}`}
      about={`The agent forgets the ${plural(after, 'event')} after it.`}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" isBusy={rewind.isPending} onClick={() => rewind.mutate()}>
            {isAtWork ? 'Stop and rewind' : 'Rewind'}
          </Button>
        </>
      }
    >
      <ul className="list-disc pl-5 text-ink-2">
        <li>Files, commits and what was spent stay as they are.</li>
        <li>Messages that wait go on waiting.</li>
        <li>Nothing is deleted: what is taken back stays in this list, and rewinding can be taken back too.</li>
        {isAtWork ? <li>The agent, and all below it, is stopped first.</li> : null}
      </ul>
      {rewind.error ? <ErrorState error={rewind.error} /> : null}
    </Dialog>
  )
}
