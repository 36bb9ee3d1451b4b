import type { ReactNode } from 'react'

type PageProps = {
  title: ReactNode
  /** A line of small words beside or under the title. */
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

/** One view: a head that stays, and a body that scrolls. */
export function Page({ title, about, actions, children }: PageProps) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b bg-surface px-4 py-2">
        <h1 className="min-w-0 truncate font-semibold text-lg">{title}</h1>
        {about ? <div className="min-w-0 text-ink-2">{about}</div> : null}
        {actions ? <div className="ml-auto flex items-center gap-2">{actions}</div> : null}
      </header>
      <div className="min-h-0 flex-1 overflow-auto">{children}</div>
    </div>
  )
}
