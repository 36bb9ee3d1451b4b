import { useQuery } from '@tanstack/react-query'
import { client } from './client.ts'
import { useLive } from './live.ts'

type StatusOptions = { refetchInterval?: number; enabled?: boolean }

/** What runs, since when, and on what. */
export function useStatus(options: StatusOptions = {}) {
  return useQuery({ queryKey: ['status'], queryFn: () => client.getStatus(), ...options })
}

/**
 * Whether what a project spends is made up: without a key its agents are played by a script, which costs nothing however real
 * its figures look. Without a project: whether that is so for all of them.
 */
export function useIsMadeUp(projectId?: string): boolean {
  const isDemo = useLive(({ projects }) => {
    const asked = projectId ? [projects[projectId]] : Object.values(projects)
    return asked.length > 0 && asked.every((project) => project?.isDemo)
  })
  const { data } = useStatus({ enabled: isDemo })
  return isDemo && data?.provider.kind === 'mock'
}
