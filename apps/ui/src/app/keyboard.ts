import { useEffect } from 'react'
import { useActions } from './actions.ts'
import { useOverlay } from './overlay.ts'

/** Keys pressed one after the other count as one command if they come this soon. */
const sequenceMs = 900

/** Runs the actions on offer by their keys. The one that was offered last wins, since it belongs to what is in front. */
export function useKeyboard(): void {
  useEffect(() => {
    let pressed: string[] = []
    let lastAt = 0

    const onKeyDown = (event: KeyboardEvent) => {
      const key = keyName(event)
      if (!key || event.defaultPrevented || event.repeat) return
      if (!key.startsWith('mod+') && (isWriting(event.target) || useOverlay.getState().shown.kind !== 'none')) return

      const now = event.timeStamp
      pressed = now - lastAt < sequenceMs ? [...pressed, key].slice(-2) : [key]
      lastAt = now
      const action = findAction(pressed.join(' ')) ?? findAction(key)
      if (!action) return
      event.preventDefault()
      pressed = []
      action.run()
    }

    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

function findAction(keys: string) {
  return useActions.getState().shown.findLast((action) => action.keys === keys)
}

/** `g`, `?`, `Enter`, `mod+k`; nothing for a key that is only held. */
export function keyName(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>): string | undefined {
  const { key, ctrlKey, metaKey, altKey } = event
  if (altKey || ['Control', 'Meta', 'Shift', 'Alt'].includes(key)) return undefined
  return ctrlKey || metaKey ? `mod+${key.toLowerCase()}` : key
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.closest('input, textarea, select, dialog[open], [role=menu]') !== null
}
