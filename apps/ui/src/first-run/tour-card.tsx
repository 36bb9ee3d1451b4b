import type { ProjectView } from '@matrix/protocol/http'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { Check, X } from 'lucide-react'
import { useEffect } from 'react'
import { useOverlay } from '../app/overlay.ts'
import { useCurrentPlace } from '../app/place.ts'
import { rememberTour, usePreferences } from '../app/preferences.ts'
import { useAttention, useLive, useTask } from '../live/live.ts'
import { useMadeUp } from '../money/made-up.tsx'
import { Button, IconButton } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Copy } from '../parts/copy.tsx'
import { currentStep, type TourStep, tourSteps } from './tour.ts'

type TourCardProps = { demo: ProjectView; className?: string }

/** A few words at the edge while somebody sees the demo for the first time. It follows what happens and covers nothing. */
export function TourCard({ demo, className }: TourCardProps) {
  const facts = usePreferences((preferences) => preferences.tour)
  const steps = tourSteps(facts, useTourFacts(demo))
  const current = currentStep(steps)
  const end = () => usePreferences.setState({ isTourDone: true })

  return (
    <aside aria-label="A first look" className={classes('border-t bg-surface', className)}>
      <header className="flex items-center justify-between pt-2 pr-2 pl-4">
        <h2 className="font-semibold">{current ? 'A first look' : 'That was all of it'}</h2>
        <IconButton label="End the tour" size="small" onClick={end}>
          <X size={14} aria-hidden />
        </IconButton>
      </header>
      {current ? <Scene demo={demo} /> : null}
      <ol className="px-4 pb-3">
        {steps.map((step) => (
          <Step key={step.id} step={step} demo={demo} isCurrent={step === current} />
        ))}
      </ol>
      {current ? null : <WhatNext onEnd={end} />}
    </aside>
  )
}

/** What is real of what there is to see. */
function Scene({ demo }: { demo: ProjectView }) {
  const isMadeUp = useMadeUp(demo.id) === 'all'
  return (
    <p className="px-4 pb-1.5 text-ink-2 max-md:hidden">
      Four agents extend a small sample program.
      {isMadeUp ? ' The model is a script and costs nothing; git, tests and sandbox are real.' : null}
    </p>
  )
}

function WhatNext({ onEnd }: { onEnd: () => void }) {
  const show = useOverlay((overlay) => overlay.show)
  return (
    <div className="flex flex-col gap-2 px-4 pb-3">
      <p className="text-ink-2">Now with a repository of yours. Without a key for a model yet, first run</p>
      <p className="flex items-center justify-between rounded-md bg-sunken py-0.5 pr-1 pl-2 font-mono text-sm">
        matrix auth set anthropic <Copy text="matrix auth set anthropic" label="Copy the command" />
      </p>
      <p className="text-ink-3 text-sm">In a clone of Matrix, with npx before it.</p>
      <div className="flex gap-2">
        <Button size="small" look="primary" onClick={() => show({ kind: 'add-project' })}>
          Add a project
        </Button>
        <Button size="small" onClick={onEnd}>
          Done
        </Button>
      </div>
    </div>
  )
}

function Step({ step, demo, isCurrent }: { step: TourStep; demo: ProjectView; isCurrent: boolean }) {
  const go = useGo(demo)
  const isThere = useIsAt(demo, step.goTo)
  return (
    <li className={classes('flex gap-2.5 py-1', !isCurrent && 'max-md:hidden')}>
      <span
        className={classes(
          'mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full border',
          step.isDone ? 'border-ok bg-ok-soft text-ok' : isCurrent ? 'border-accent' : 'border-line-strong',
        )}
      >
        {step.isDone ? <Check size={11} aria-hidden /> : null}
      </span>
      <div className="min-w-0 flex-1">
        <p className={classes(isCurrent ? 'font-medium' : 'text-ink-2')}>
          {step.title}
          {step.isDone ? <span className="sr-only">, done</span> : null}
        </p>
        {isCurrent ? (
          <>
            <p className="text-ink-2">{step.text}</p>
            {step.goTo && !isThere ? (
              <Button size="small" look="primary" className="mt-1.5" onClick={() => go(step.goTo)}>
                Show me
              </Button>
            ) : null}
          </>
        ) : null}
      </div>
    </li>
  )
}

function useGo({ id: projectId, rootTaskId }: ProjectView) {
  const navigate = useNavigate()
  return (to: TourStep['goTo']) => {
    if (to === 'tree') void navigate({ to: '/p/$projectId', params: { projectId } })
    if (to === 'inbox') void navigate({ to: '/' })
    if (to === 'review' && rootTaskId)
      void navigate({ to: '/p/$projectId/t/$taskId/review', params: { projectId, taskId: rootTaskId } })
  }
}

/** Whether somebody is already where a step leads, and only has to look. */
function useIsAt({ id, rootTaskId }: ProjectView, goTo: TourStep['goTo']): boolean {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const paths = { tree: `/p/${id}`, inbox: '/', review: `/p/${id}/t/${rootTaskId}/review` }
  return goTo !== undefined && path === paths[goTo]
}

/** Notes what has happened of the demo so far, and tells what can be done now. */
function useTourFacts({ id: projectId, rootTaskId }: ProjectView): { hasQuestion: boolean; isOffered: boolean } {
  const place = useCurrentPlace()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const hasQuestion = useAttention().some((item) => item.kind === 'question' && item.projectId === projectId)
  const isOffered = useTask(projectId, rootTaskId ?? undefined)?.needs.includes('review') ?? false
  const isLive = useLive((live) => live.health === 'live')
  const { sawQuestion, sawReview, sawOffer } = usePreferences((preferences) => preferences.tour)

  useEffect(() => {
    // While the page catches up, something that is missing need not be over.
    if (!isLive) return
    if (place.projectId === projectId && place.taskId) rememberTour('sawTask')
    if (hasQuestion) rememberTour('sawQuestion')
    if (sawQuestion && !hasQuestion) rememberTour('answered')
    if (isOffered) rememberTour('sawOffer')
    if (isOffered && path.endsWith('/review')) rememberTour('sawReview')
    if (sawReview && sawOffer && !isOffered) rememberTour('merged')
  }, [isLive, place.projectId, place.taskId, projectId, path, hasQuestion, isOffered, sawQuestion, sawReview, sawOffer])
  return { hasQuestion, isOffered }
}
