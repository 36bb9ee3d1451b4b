import { describeCacheCost, describeChanges, isChanged, plural } from '@matrix/protocol/display'
import type { TaskView } from '@matrix/protocol/http'
import { useMutation, useQuery } from '@tanstack/react-query'
import { queryClient } from '../app/queries.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Button } from '../parts/button.tsx'

/** Which model and tools a session runs with, and the way to those that the settings give it now. */
export function Configuration({ task }: { task: TaskView }) {
  const { projectId, id: taskId } = task
  const queryKey = ['configuration', projectId, taskId]
  const { data, error } = useQuery({
    queryKey: [...queryKey, task.activity, task.model],
    queryFn: () => client.readConfiguration({ projectId, taskId }),
    placeholderData: (before) => before,
  })
  const restart = useMutation({
    mutationFn: (now: boolean) => client.restartAgent({ projectId, taskId, body: { now } }),
    onSuccess: (_, now) => {
      sayDone(now ? 'Restarted' : 'Taken when the agent rests', 'The conversation stays as it is.')
      return queryClient.invalidateQueries({ queryKey })
    },
  })

  if (error) return <p className="text-ink-3">{error.message}</p>
  if (!data) return <p className="text-ink-3">…</p>
  const { current, offered } = data
  if (!current) return <p className="text-ink-3">Begins with {offered.model}.</p>
  return (
    <>
      <p className="text-sm">
        {current.model} <span className="text-ink-3">· {plural(current.tools.length, 'tool')}</span>
      </p>
      {isChanged(data) ? (
        <div className="mt-1 text-sm">
          <p>The settings have changed since this session began:</p>
          <ul className="list-disc pl-4">
            {describeChanges(data).map((change) => (
              <li key={change} className="break-words">
                {change}
              </li>
            ))}
          </ul>
          <p className="text-ink-3">{describeCacheCost(data)}</p>
          {data.isRequested ? (
            <p className="text-ink-3">Requested: the agent takes it when it rests.</p>
          ) : (
            <p className="text-ink-3">Without a restart, the next compaction takes it.</p>
          )}
          <div className="mt-2 flex gap-2">
            {data.isRequested ? null : (
              <Button size="small" isBusy={restart.isPending} onClick={() => restart.mutate(false)}>
                Take it at rest
              </Button>
            )}
            <Button size="small" look="quiet" isBusy={restart.isPending} onClick={() => restart.mutate(true)}>
              Restart now
            </Button>
          </div>
        </div>
      ) : null}
    </>
  )
}
