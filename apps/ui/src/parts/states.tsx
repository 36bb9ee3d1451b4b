import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { describeFailure } from './failure.ts'

type EmptyProps = { icon?: ReactNode; title: string; children?: ReactNode; action?: ReactNode }

/** Nothing to show, and what to make of that. */
export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-6 py-16 text-center">
      {icon ? <div className="mb-1 text-ink-3">{icon}</div> : null}
      <h2 className="font-semibold text-lg">{title}</h2>
      {children ? <div className="text-balance text-ink-2">{children}</div> : null}
      {action ? <div className="mt-3 flex gap-2">{action}</div> : null}
    </div>
  )
}

/** What went wrong, and what to do next. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { code, message, hint } = describeFailure(error)
  return (
    <div role="alert" className="m-4 flex gap-3 rounded-lg border border-bad/30 bg-bad-soft p-3">
      <TriangleAlert size={16} className="mt-0.5 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="break-words font-medium text-ink">{message}</p>
        {hint ? <p className="mt-0.5 text-ink-2">{hint}</p> : null}
        <p className="mt-1 flex items-center gap-1 font-mono text-ink-2 text-xs">
          {code} <Copy text={[code, message, hint].filter(Boolean).join('\n')} label="Copy the error" />
        </p>
      </div>
      {onRetry ? (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      ) : null}
    </div>
  )
}

/** Something is on its way. It stays blank for a moment, since most of what is asked for is there at once. */
export function Loading({ label = 'Loading' }: { label?: string }) {
  return (
    <div role="status" className="flex appearing-late items-center justify-center p-10 text-ink-3">
      {label}…
    </div>
  )
}
