import { Key } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useActions } from './actions.ts'

/** Every key that does something here and now. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  const actions = useActions((state) => state.shown).filter((action) => action.keys)
  const groups = Map.groupBy(actions, ({ group }) => group)

  return (
    <Dialog isOpen onClose={onClose} title="Keys" about="What works right now; the list grows with what is in front.">
      <div className="columns-2 gap-8 max-sm:columns-1">
        {[...groups].map(([group, members]) => (
          <section key={group} className="mb-4 break-inside-avoid">
            <h3 className="mb-1 font-medium text-ink-3 text-xs">{group}</h3>
            <dl>
              {members.map(({ id, label, keys }) => (
                <div key={id} className="flex min-h-6 items-center justify-between gap-3">
                  <dt>{label}</dt>
                  <dd>
                    <Key>{showKeys(keys ?? '')}</Key>
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** `mod+k` as it is printed on the keyboard in front of somebody. */
export function showKeys(keys: string): string {
  const mod = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl '
  return keys.replace(/mod\+(\w)/, (_, key: string) => `${mod}${key.toUpperCase()}`).replace('Enter', '↵')
}
