import { useCallback, useState } from 'react'

const kept = new Map<string, boolean>()

/** Whether something is unfolded, remembered while the page lives: a row that scrolls out of sight comes back as it was left. */
export function useFold(key: string, isOpenAtFirst = false): [isOpen: boolean, toggle: () => void] {
  const [isOpen, setOpen] = useState(kept.get(key) ?? isOpenAtFirst)
  const toggle = useCallback(() => {
    setOpen((before) => {
      kept.set(key, !before)
      return !before
    })
  }, [key])
  return [isOpen, toggle]
}
