import type { AttentionKind, TaskView } from '@matrix/protocol/http'
import { useMemo } from 'react'
import { useAttention } from '../live/live.ts'
import { AttentionCard } from '../overview/attention-card.tsx'

/** What can be answered without leaving the conversation; the others have a place of their own. */
const answerable: readonly AttentionKind[] = ['approval', 'question', 'budget']

/** What the agent of this task waits for a person to say, where the person is looking. */
export function TaskNeeds({ task }: { task: TaskView }) {
  const attention = useAttention()
  const items = useMemo(
    () =>
      attention.filter(
        ({ kind, taskId, projectId }) =>
          taskId === task.id && projectId === task.projectId && answerable.includes(kind),
      ),
    [attention, task.id, task.projectId],
  )
  if (items.length === 0) return null
  return (
    <div className="mx-auto flex max-h-[60%] w-full max-w-4xl shrink-0 flex-col gap-2 overflow-auto px-4 py-2">
      {items.map((item) => (
        <AttentionCard key={item.id} item={item} isChosen onChoose={() => undefined} />
      ))}
    </div>
  )
}
