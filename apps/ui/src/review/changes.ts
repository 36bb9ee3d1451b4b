import type { ChangesView, FileChange, TaskView } from '@matrix/protocol/http'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { client } from '../live/client.ts'
import type { Hunk } from './diff-line.ts'

export type ChangesQuery = { ignoreWhitespace: boolean; since: string | undefined }

/** Up to this many changed lines everything comes in one answer; beyond it, each file when it is looked at. */
const small = 4000
const lookEveryMs = 10_000

/** What a task would bring. While its agent works, the branch may move at any time, so it is looked at again. */
export function useChanges(task: TaskView, { ignoreWhitespace, since }: ChangesQuery) {
  const { projectId, id: taskId } = task
  return useQuery({
    queryKey: ['changes', projectId, taskId, ignoreWhitespace, since ?? null, task.activity, task.needs.join()],
    queryFn: async () => {
      const query = { projectId, taskId, ...optionsOf({ ignoreWhitespace, since }) }
      const changes = await client.getChanges(query)
      return changes.additions + changes.deletions <= small ? client.getChanges({ ...query, hunks: 'true' }) : changes
    },
    placeholderData: keepPreviousData,
    refetchInterval: task.activity === 'working' ? lookEveryMs : false,
    structuralSharing: false,
  })
}

export type FileHunks = {
  hunksOf: (file: FileChange) => readonly Hunk[] | undefined
  errorOf: (file: FileChange) => unknown
  load: (file: FileChange) => void
}

/** The hunks of each file, those of a large diff one file at a time. */
export function useHunks(task: TaskView, changes: ChangesView | undefined, query: ChangesQuery): FileHunks {
  const queryClient = useQueryClient()
  const [arrived, setArrived] = useState(0)
  const { projectId, id: taskId } = task
  const keyOf = useCallback(
    (path: string) => [
      'changes',
      projectId,
      taskId,
      'hunks',
      changes?.head,
      changes?.base,
      query.ignoreWhitespace,
      query.since ?? null,
      path,
    ],
    [projectId, taskId, changes, query.ignoreWhitespace, query.since],
  )

  return {
    // Another function whenever hunks have arrived, so that whoever depends on it asks again.
    // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
    hunksOf: useCallback(
      (file) => file.hunks ?? queryClient.getQueryData<readonly Hunk[]>(keyOf(file.path)),
      [queryClient, keyOf, arrived],
    ),
    errorOf: (file) => queryClient.getQueryState(keyOf(file.path))?.error ?? undefined,
    load: useCallback(
      (file) => {
        const queryKey = keyOf(file.path)
        const state = queryClient.getQueryState(queryKey)
        if (file.hunks || state?.data || state?.fetchStatus === 'fetching') return
        const options = { ...optionsOf(query), path: file.path, hunks: 'true' } as const
        const queryFn = async () => {
          const { files } = await client.getChanges({ projectId, taskId, ...options })
          return files.find(({ path }) => path === file.path)?.hunks ?? []
        }
        void queryClient
          .fetchQuery({ queryKey, queryFn, staleTime: Number.POSITIVE_INFINITY, retry: false })
          .catch(() => undefined)
          .then(() => setArrived((count) => count + 1))
      },
      [queryClient, keyOf, query, projectId, taskId],
    ),
  }
}

function optionsOf({ ignoreWhitespace, since }: ChangesQuery): { ignoreWhitespace?: string; since?: string } {
  return { ...(ignoreWhitespace ? { ignoreWhitespace: 'true' } : {}), ...(since ? { since } : {}) }
}
