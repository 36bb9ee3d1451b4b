import { expect, test } from 'vitest'
import { currentStep, tourSteps } from './tour.ts'

test('a step is done when the thing has happened, whatever came before it', () => {
  const steps = tourSteps({ answered: true }, { hasQuestion: false, isOffered: false })

  expect(steps.filter(({ isDone }) => isDone).map(({ id }) => id)).toEqual(['answer'])
})

test('a step leads somewhere only once there is something to see', () => {
  const leads = (now: { hasQuestion: boolean; isOffered: boolean }) => tourSteps({}, now).map(({ goTo }) => goTo)

  expect(leads({ hasQuestion: false, isOffered: false })).toEqual(['tree', undefined, undefined, undefined])
  expect(leads({ hasQuestion: true, isOffered: true })).toEqual(['tree', 'inbox', 'review', 'review'])
})

test('an agent that waits for an answer comes before anything there is only to look at', () => {
  const current = (now: { hasQuestion: boolean; isOffered: boolean }) => currentStep(tourSteps({}, now))?.id

  expect(current({ hasQuestion: false, isOffered: false })).toBe('watch')
  expect(current({ hasQuestion: true, isOffered: true })).toBe('answer')
})
