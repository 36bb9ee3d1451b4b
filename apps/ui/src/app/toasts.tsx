import { CircleCheck, TriangleAlert, X } from 'lucide-react'
import { useEffect } from 'react'
import { create } from 'zustand'
import { IconButton } from '../parts/button.tsx'
import { describeFailure } from '../parts/failure.ts'

type Toast = { id: number; tone: 'ok' | 'bad'; title: string; detail?: string | undefined }
type Toasts = { toasts: readonly Toast[]; show(toast: Omit<Toast, 'id'>): void; dismiss(id: number): void }

let lastId = 0

const useToasts = create<Toasts>((set) => ({
  toasts: [],
  show(toast) {
    lastId += 1
    const id = lastId
    set(({ toasts }) => ({ toasts: [...toasts.slice(-3), { ...toast, id }] }))
  },
  dismiss: (id) => set(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) })),
}))

/** Says in the corner that something was done. */
export function sayDone(title: string, detail?: string): void {
  useToasts.getState().show({ tone: 'ok', title, detail })
}

/** Says in the corner what failed and what to do next. */
export function sayFailure(error: unknown): void {
  const { message, hint } = describeFailure(error)
  useToasts.getState().show({ tone: 'bad', title: message, detail: hint })
}

export function ToastStack() {
  const { toasts, dismiss } = useToasts()
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-3 bottom-3 z-50 flex w-[calc(100vw-1.5rem)] max-w-sm flex-col gap-2 max-md:bottom-18"
    >
      {toasts.map((toast) => (
        <ToastCard key={toast.id} toast={toast} onDismiss={() => dismiss(toast.id)} />
      ))}
    </div>
  )
}

function ToastCard({ toast, onDismiss }: { toast: Toast; onDismiss: () => void }) {
  const { tone } = toast
  useEffect(() => {
    // What failed stays until it was read for certain; what worked need not be read.
    const timer = setTimeout(onDismiss, tone === 'ok' ? 4000 : 15_000)
    return () => clearTimeout(timer)
  }, [onDismiss, tone])

  return (
    <div className="pointer-events-auto flex appearing gap-2 rounded-lg border bg-raised p-3 shadow-lift">
      {tone === 'ok' ? (
        <CircleCheck size={16} className="mt-0.5 shrink-0 text-ok" aria-hidden />
      ) : (
        <TriangleAlert size={16} className="mt-0.5 shrink-0 text-bad" aria-hidden />
      )}
      <div className="min-w-0 flex-1">
        <p className="break-words font-medium">{toast.title}</p>
        {toast.detail ? <p className="break-words text-ink-2">{toast.detail}</p> : null}
      </div>
      <IconButton label="Dismiss" size="small" onClick={onDismiss}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  )
}
