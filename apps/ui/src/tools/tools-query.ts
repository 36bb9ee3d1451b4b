import type { TaskView } from '@matrix/protocol/http'
import { useQuery } from '@tanstack/react-query'
import { client } from '../live/client.ts'

/** What an agent can call. Asked for again whenever it starts or stops, since servers are checked then. */
export function useTools({ projectId, id: taskId, activity }: Pick<TaskView, 'projectId' | 'id' | 'activity'>) {
  return useQuery({
    queryKey: ['tools', projectId, taskId, activity],
    queryFn: () => client.listTools({ projectId, taskId }),
    placeholderData: (before) => before,
  })
}
