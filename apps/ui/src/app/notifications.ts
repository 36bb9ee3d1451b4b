import type { Attention } from '@matrix/protocol/http'
import { useEffect } from 'react'
import { useLive } from '../live/live.ts'
import { usePreferences } from './preferences.ts'
import { router } from './router.tsx'

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
  const note = new Notification(`${words[kind]}: ${taskTitle}`, {
    body: text.slice(0, 200),
    tag: id,
    icon: '/icon.svg',
  })
  note.onclick = () => {
    window.focus()
    note.close()
    if (kind === 'review') void router.navigate({ to: '/p/$projectId/t/$taskId/review', params: { projectId, taskId } })
    else void router.navigate({ to: '/', search: { item: id } })
  }
}

/** Asks the browser once; the answer is kept. */
export async function askForNotifications(): Promise<boolean> {
  const isGranted = (await Notification.requestPermission()) === 'granted'
  usePreferences.setState({ wantsNotifications: isGranted })
  return isGranted
}
