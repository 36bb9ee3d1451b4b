import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { IconButton } from './button.tsx'
import { classes } from './classes.ts'

type DialogProps = {
  isOpen: boolean
  onClose: () => void
  title: string
  /** One sentence under the title. */
  about?: ReactNode
  children: ReactNode
  /** The buttons, the deciding one last. */
  actions?: ReactNode
  width?: 'narrow' | 'normal' | 'wide'
}

const widths = { narrow: 'max-w-md', normal: 'max-w-xl', wide: 'max-w-4xl' }

/** The browser's own modal dialog: it keeps the focus, makes the rest inert and needs no style that the policy forbids. */
export function Dialog({ isOpen, onClose, title, about, children, actions, width = 'normal' }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  if (!isOpen) return null

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the backdrop is a convenience; Escape does the same.
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
      className={classes(
        'm-auto w-[calc(100vw-2rem)] rounded-lg border bg-raised p-0 shadow-lift max-sm:mb-2',
        widths[width],
      )}
    >
      <div className="flex max-h-[85dvh] flex-col">
        <header className="flex items-start gap-3 border-b px-4 py-3">
          <div className="min-w-0 flex-1">
            <h2 id={titleId} className="font-semibold text-md">
              {title}
            </h2>
            {about ? <p className="mt-0.5 text-ink-2">{about}</p> : null}
          </div>
          <IconButton label="Close" size="small" onClick={onClose}>
            <X size={14} aria-hidden />
          </IconButton>
        </header>
        <div className="min-h-0 flex-1 overflow-auto px-4 py-3">{children}</div>
        {actions ? <footer className="flex justify-end gap-2 border-t px-4 py-3">{actions}</footer> : null}
      </div>
    </dialog>
  )
}
