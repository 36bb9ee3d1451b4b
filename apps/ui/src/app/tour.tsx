import type { ProjectView } from '@matrix/protocol/http'
import { lazy, Suspense, useEffect } from 'react'
import { useLive, useProjects } from '../live/live.ts'
import { usePreferences } from './preferences.ts'
import { router } from './router.tsx'

const TourCard = lazy(() => import('../first-run/tour-card.tsx').then(({ TourCard }) => ({ default: TourCard })))

/** The demo explains itself until somebody has seen enough of it. */
export function Tour({ className }: { className?: string }) {
  const demo = useTouredDemo()
  if (!demo) return null
  return (
    <Suspense>
      <TourCard demo={demo} {...(className ? { className } : {})} />
    </Suspense>
  )
}

/** Somebody who has seen nothing yet and is needed nowhere sees the agents at work first. */
export function useDemoFirst(): void {
  const projectId = useTouredDemo()?.id
  useEffect(() => {
    const isNew = Object.keys(usePreferences.getState().tour).length === 0
    const isFree = Object.keys(useLive.getState().attention).length === 0
    if (projectId && isNew && isFree && location.pathname === '/')
      void router.navigate({ to: '/p/$projectId', params: { projectId }, replace: true })
  }, [projectId])
}

function useTouredDemo(): ProjectView | undefined {
  const isDone = usePreferences(({ isTourDone }) => isTourDone)
  const demo = useProjects().find(({ isDemo }) => isDemo)
  return isDone ? undefined : demo
}
