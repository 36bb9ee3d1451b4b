import { useQuery } from '@tanstack/react-query'
import { client } from '../live/client.ts'

type CostsOptions = { since?: string; refetchInterval?: number; enabled?: boolean }

/** What was spent in a project, or in all of them, summed by what is named. */
export function useCosts(projectId: string | undefined, by: string, { since, ...options }: CostsOptions = {}) {
  return useQuery({
    queryKey: ['costs', projectId ?? null, by, since ?? null],
    queryFn: () => client.readCosts({ by, ...(projectId ? { projectId } : {}), ...(since ? { since } : {}) }),
    placeholderData: (before) => before,
    ...options,
  })
}
