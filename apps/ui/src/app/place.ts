import { type AnyRouter, useRouterState } from '@tanstack/react-router'
import { useLive } from '../live/live.ts'
import { usePreferences } from './preferences.ts'

/** The project and the task that the address names. */
export function useCurrentPlace(): { projectId: string | undefined; taskId: string | undefined } {
  const projectId = useRouterState({ select: (state) => paramsOf(state).projectId })
  const taskId = useRouterState({ select: (state) => paramsOf(state).taskId })
  return { projectId, taskId }
}

type Params = { projectId?: string; taskId?: string }

function paramsOf({ matches }: AnyRouter['state']): Params {
  return matches.at(-1)?.params ?? {}
}

/** The project somebody works with: that of the address, else the one looked at last, else the first there is. */
export function useCurrentProjectId(): string | undefined {
  const { projectId } = useCurrentPlace()
  const remembered = usePreferences((preferences) => preferences.projectId)
  return useLive(({ projects }) => {
    if (projectId) return projectId
    if (remembered && projects[remembered]) return remembered
    return Object.keys(projects)[0]
  })
}
