import type { TourFact } from '../app/preferences.ts'

export type TourStep = {
  id: string
  title: string
  text: string
  /** Nothing while there is nothing to go to yet. */
  goTo?: 'tree' | 'inbox' | 'review'
  isDone: boolean
}

type Facts = Partial<Record<TourFact, true>>
type Now = { hasQuestion: boolean; isOffered: boolean }

/** The steps of the demo, each ticked off by what really happened and never by a click on "next". */
export function tourSteps(facts: Facts, { hasQuestion, isOffered }: Now): TourStep[] {
  return [
    {
      id: 'watch',
      title: 'Watch them work',
      text: 'One agent splits the goal, others work side by side, each on a branch of its own. Open any of them in the tree.',
      goTo: 'tree',
      isDone: facts.sawTask === true,
    },
    {
      id: 'answer',
      title: 'Answer a question',
      text: hasQuestion
        ? 'One of them cannot go on without you. Pick an answer in the inbox; until then it waits, which costs nothing.'
        : 'One of them will ask you something in a moment. Nothing to do until then.',
      ...(hasQuestion ? { goTo: 'inbox' as const } : {}),
      isDone: facts.answered === true,
    },
    {
      id: 'review',
      title: 'Look at what they made',
      text: isOffered
        ? 'All of it is on one branch, line by line. Click on a line to say something about it.'
        : 'When the last one is done, you will see every line before anything reaches your branch.',
      ...(isOffered ? { goTo: 'review' as const } : {}),
      isDone: facts.sawReview === true,
    },
    {
      id: 'merge',
      title: 'Merge it',
      text: 'The Merge button brings it to the branch main. Only a person does this; until then your own checkout is as it was.',
      ...(isOffered ? { goTo: 'review' as const } : {}),
      isDone: facts.merged === true,
    },
  ]
}

/** The first that is not done; but an agent that waits for an answer comes before anything there is only to look at. */
export function currentStep(steps: readonly TourStep[]): TourStep | undefined {
  const open = steps.filter(({ isDone }) => !isDone)
  return open.find(({ goTo }) => goTo === 'inbox') ?? open[0]
}
