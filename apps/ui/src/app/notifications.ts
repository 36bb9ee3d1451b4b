import type { Attention } from '@matrix/protocol/http'
import { useEffect } from 'react'
import { useLive } from '../live/live.ts'
import { failure } from '../parts/failure.ts'
import { usePreferences } from './preferences.ts'
import { router } from './router.tsx'
import { sayDone, sayFailure } from './toasts.tsx'

const words: Record<Attention['kind'], string> = {
  approval: 'Approval needed',
  question: 'A question',
  conflict: 'A conflict',
  failure: 'Failed',
  budget: 'Out of budget',
  review: 'Ready for review',
}

/** Tells somebody who is not looking that they are needed or that work is finished, and nothing else. */
export function useNotifications(): void {
  const isWanted = usePreferences(({ wantsNotifications }) => wantsNotifications)
  useEffect(() => {
    if (!isWanted) return
    return useLive.subscribe((live, before) => {
      // What was there when the page came, or came back, is in the inbox; only what is new is worth a knock.
      if (live.attention === before.attention || live.health !== 'live' || before.health !== 'live') return
      for (const one of Object.values(live.attention)) if (!before.attention[one.id]) notify(one)
    })
  }, [isWanted])
}

function notify({ id, kind, taskTitle, text, projectId, taskId }: Attention): void {
  if (document.visibilityState === 'visible' && document.hasFocus()) return
  const note = openNote(`${words[kind]}: ${taskTitle}`, { body: text.slice(0, 200), tag: id, icon: '/icon.svg' })
  if (!note) return
  note.onclick = () => {
    window.focus()
    note.close()
    if (kind === 'review') void router.navigate({ to: '/p/$projectId/t/$taskId/review', params: { projectId, taskId } })
    else void router.navigate({ to: '/', search: { item: id } })
  }
}

/** Browsers on phones have the word but refuse a page that uses it; the inbox tells the same there. */
function openNote(title: string, options: NotificationOptions): Notification | undefined {
  try {
    return new Notification(title, options)
  } catch {
    return undefined
  }
}

/** Asks the browser and keeps its answer. */
export async function askForNotifications(): Promise<void> {
  const isGranted = (await Notification.requestPermission()) === 'granted'
  usePreferences.setState({ wantsNotifications: isGranted })
  if (isGranted) sayDone('You will be told', 'When an agent needs you or has finished, while you look elsewhere.')
  else
    sayFailure(failure('The browser does not let this page notify you.', 'Allow it in its settings for this address.'))
}
