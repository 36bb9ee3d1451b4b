import type { Image } from '@matrix/protocol'
import { create } from 'zustand'

export type Draft = { text: string; images: readonly Image[] }

const keyOf = (taskId: string) => `matrix.draft.${taskId}`
const useDrafts = create<Readonly<Record<string, Draft>>>(() => ({}))
const empty: Draft = { text: '', images: [] }

/** Words for a task that were not sent yet. They are still there after a look at another task, and after a reload. */
export function useDraft(taskId: string): Draft {
  return useDrafts((drafts) => drafts[taskId] ?? readDraft(taskId))
}

export function setDraft(taskId: string, draft: Draft): void {
  if (draft.text === '') sessionStorage.removeItem(keyOf(taskId))
  else sessionStorage.setItem(keyOf(taskId), draft.text)
  useDrafts.setState({ [taskId]: draft })
}

const kept = new Map<string, Draft>()

/** What an earlier page left, as the same object each time it is asked for. */
function readDraft(taskId: string): Draft {
  const text = sessionStorage.getItem(keyOf(taskId)) ?? ''
  if (text === '') return empty
  const known = kept.get(taskId)
  if (known?.text === text) return known
  const draft = { text, images: [] }
  kept.set(taskId, draft)
  return draft
}
