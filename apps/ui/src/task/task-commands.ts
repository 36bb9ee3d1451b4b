import type { CommandName } from '@matrix/protocol'
import { plural } from '@matrix/protocol/display'
import type { MergeRequest } from '@matrix/protocol/http'
import { queryClient } from '../app/queries.ts'
import { router } from '../app/router.tsx'
import { sayDone, sayFailure } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { failure } from '../parts/failure.ts'
import { formatUsd } from '../parts/formats.ts'
import { describeStop } from './stop-words.ts'

export type TaskPlace = { projectId: string; taskId: string }

/** Interrupts an agent and says what there is now: nothing that was said, written or waiting is lost by it. */
async function stopTask(place: TaskPlace): Promise<void> {
  const { stopped } = await client.stopAgent(place)
  const [{ pending }, uncommitted] = await Promise.all([client.getTask(place), readUncommitted(place)])
  const { title, detail } = describeStop({ stopped: stopped.length, pending: pending.length, uncommitted })
  sayDone(title, detail)
}

/** A task without a branch has no changes to look at; that must not make a stop look failed. */
async function readUncommitted(place: TaskPlace): Promise<number | undefined> {
  return client.getChanges(place).then(
    ({ uncommitted }) => uncommitted.length,
    () => undefined,
  )
}

async function resumeTask(place: TaskPlace): Promise<void> {
  const { resumed } = await client.resumeAgent(place)
  sayDone(resumed.length === 0 ? 'Nothing was stopped' : `${plural(resumed.length, 'agent')} resumed`)
}

async function compactTask(place: TaskPlace): Promise<void> {
  await client.compactAgent(place)
  sayDone('The conversation will be summed up', 'Messages that arrive meanwhile are kept.')
}

/** Sets what a task may cost. Nothing lifts the limit altogether. */
export async function setBudget({ projectId, taskId }: TaskPlace, budgetUsd: number | null): Promise<void> {
  await client.updateTask({ projectId, taskId, body: { budgetUsd } })
  sayDone(budgetUsd === null ? 'No budget any more' : `The budget is ${formatUsd(budgetUsd)}`)
}

/** Merges and says how it went. Answers whether the work is in the target now. */
export async function mergeTask(place: TaskPlace, request: Partial<MergeRequest>): Promise<boolean> {
  const outcome = await client.mergeTask({ ...place, body: request })
  await queryClient.invalidateQueries({ queryKey: ['changes', place.projectId] })
  if (outcome.outcome === 'conflict') {
    sayFailure(
      failure(
        `Nothing was merged: ${plural(outcome.files.length, 'file')} would conflict`,
        'Ask the agent to resolve it on the review page.',
      ),
    )
    return false
  }
  sayDone(outcome.outcome === 'merged' ? `Merged as ${outcome.commit.slice(0, 10)}` : 'There was nothing to merge')
  return true
}

async function closeTask(place: TaskPlace): Promise<void> {
  await client.closeTask(place)
  sayDone('Closed')
}

async function resetTask(place: TaskPlace): Promise<void> {
  await client.resetTask(place)
  sayDone('Back at the beginning')
}

/** A new task beside this one that starts with everything this one knows, or knew at an event. */
async function forkTask({ projectId, taskId }: TaskPlace, title: string, upTo?: number): Promise<void> {
  const task = await client.getTask({ projectId, taskId })
  const target = await client.createTask({
    projectId,
    body: {
      title: title || `${task.title} (fork)`,
      description: task.description,
      ...(task.parentId ? { parentId: task.parentId } : {}),
    },
  })
  const body = { targetTaskId: target.id, ...(upTo === undefined ? {} : { upTo }) }
  await client.forkTask({ projectId, taskId, body })
  sayDone('Forked', target.title)
  await router.navigate({ to: '/p/$projectId/t/$taskId', params: { projectId, taskId: target.id } })
}

/** The same from one event on; what fails is said. */
export async function forkFrom(place: TaskPlace, seq: number): Promise<void> {
  try {
    await forkTask(place, '', seq)
  } catch (error) {
    sayFailure(error)
  }
}

/** Takes a conversation back to an event. An agent that is at work is stopped first. */
export async function rewindTo(place: TaskPlace, seq: number, isAtWork: boolean): Promise<void> {
  if (isAtWork) await client.stopAgent(place)
  await client.rewindTask({ ...place, body: { upTo: seq } })
  sayDone(`Taken back to event ${seq}`, 'A message lets the agent go on from there.')
}

async function openReview(params: TaskPlace): Promise<void> {
  await router.navigate({ to: '/p/$projectId/t/$taskId/review', params })
}

const commands: Record<CommandName, (place: TaskPlace, argument: string) => Promise<unknown>> = {
  stop: stopTask,
  resume: resumeTask,
  compact: compactTask,
  budget: (place, argument) => setBudget(place, readUsd(argument)),
  review: openReview,
  merge: (place) => mergeTask(place, { how: 'merge' }),
  squash: (place) => mergeTask(place, { how: 'squash' }),
  fork: forkTask,
  close: closeTask,
  reset: resetTask,
}

/** Does what a slash command, a key or a button asks for; what fails is said. */
export async function runCommand(name: CommandName, place: TaskPlace, argument = ''): Promise<void> {
  try {
    await commands[name](place, argument)
  } catch (error) {
    sayFailure(error)
  }
}

function readUsd(text: string): number {
  const usd = Number(text.replace(/^\$/, ''))
  if (text === '' || !Number.isFinite(usd) || usd < 0)
    throw failure(`Not an amount of dollars: ${text || 'nothing'}`, 'Write a number, as in /budget 5.')
  return usd
}
