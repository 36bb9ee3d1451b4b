import { useEffect } from 'react'
import { create } from 'zustand'

/** Something a person can do here, by palette or by key. */
export type Action = {
  /** Stable, such as `task.stop`. */
  id: string
  label: string
  group: string
  /** Keys as they are pressed one after the other: `g i`, `?`, or `mod+k` for both Ctrl and Cmd. */
  keys?: string
  /** Other words somebody may look it up by. */
  words?: string
  run(): void
}

type Actions = { shown: readonly Action[]; add(actions: readonly Action[]): () => void }

export const useActions = create<Actions>((set) => ({
  shown: [],
  add(actions) {
    set(({ shown }) => ({ shown: [...shown, ...actions] }))
    return () => set(({ shown }) => ({ shown: shown.filter((action) => !actions.includes(action)) }))
  },
}))

/** Offers actions in the palette and on the keyboard for as long as a view is shown. Give it a memoised list. */
export function useOffer(actions: readonly Action[]): void {
  const add = useActions((state) => state.add)
  useEffect(() => add(actions), [add, actions])
}
