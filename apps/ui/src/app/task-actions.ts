import type { TaskView } from '@matrix/protocol/http'
import { client } from '../live/client.ts'
import { runCommand } from '../task/task-commands.ts'
import type { Action } from './actions.ts'
import { toggleFavourite } from './preferences.ts'
import { router } from './router.tsx'
import { sayDone, sayFailure } from './toasts.tsx'

type Acted = { projectId: string; taskId: string } & Pick<TaskView, 'status' | 'activity' | 'folder'>

/** What can be done with a task as it is. */
export function taskActions({ projectId, taskId, status, activity, folder }: Acted): Action[] {
  const params = { projectId, taskId }
  const isLive = activity !== 'off' && activity !== 'stopped'
  const inTask = (id: string, label: string, run: () => void, more: Partial<Action> = {}): Action => ({
    id: `task.${id}`,
    label,
    group: 'This task',
    run,
    ...more,
  })

  const always = [inTask('favourite', 'Mark or unmark as favourite', () => toggleFavourite(taskId), { keys: 'f' })]
  if (folder) return always
  return [
    inTask('open', 'Conversation', () => void router.navigate({ to: '/p/$projectId/t/$taskId', params }), {
      keys: 'g o',
    }),
    inTask(
      'review',
      'Review the changes',
      () => void router.navigate({ to: '/p/$projectId/t/$taskId/review', params }),
      {
        keys: 'g r',
        words: 'diff merge',
      },
    ),
    inTask('tools', 'Tools of the agent', () => void router.navigate({ to: '/p/$projectId/t/$taskId/tools', params }), {
      keys: 'g k',
      words: 'mcp servers manifest',
    }),
    ...(isLive
      ? [
          inTask('stop', 'Stop the agent and all below it', () => void runCommand('stop', params), {
            words: 'interrupt',
          }),
        ]
      : []),
    ...(activity === 'stopped'
      ? [inTask('resume', 'Let the agent go on', () => void runCommand('resume', params))]
      : []),
    ...(isLive
      ? [
          inTask('compact', 'Sum the conversation up', () => void runCommand('compact', params), {
            words: 'compact context',
          }),
        ]
      : []),
    ...(!isLive && status !== 'closed'
      ? [inTask('close', 'Close the task', () => void runCommand('close', params), { words: 'end' })]
      : []),
    ...(status === 'draft'
      ? [inTask('ready', 'Mark as pending', () => void setStatus(params, 'pending'), { words: 'draft ready' })]
      : []),
    inTask('fork', 'Fork: a new task that knows what this one knows', () => void runCommand('fork', params)),
    inTask('copy-link', 'Copy the link', () => void copyText(location.href)),
    inTask('copy-id', 'Copy the id of the task', () => void copyText(taskId)),
    ...always,
  ]
}

type Place = { projectId: string; taskId: string }

async function setStatus(place: Place, status: TaskView['status']): Promise<void> {
  await attempt(() => client.updateTask({ ...place, body: { status } }))
}

async function copyText(text: string): Promise<void> {
  await attempt(async () => {
    await navigator.clipboard.writeText(text)
    sayDone('Copied')
  })
}

async function attempt(run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (error) {
    sayFailure(error)
  }
}
