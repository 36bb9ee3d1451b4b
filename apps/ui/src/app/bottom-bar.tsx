import { Link } from '@tanstack/react-router'
import { Inbox, ListTree, Menu, Search } from 'lucide-react'
import type { ReactNode } from 'react'
import { useAttention } from '../live/live.ts'
import { useOverlay } from './overlay.ts'
import { useCurrentProjectId } from './place.ts'

const look =
  'flex min-h-14 flex-1 flex-col items-center justify-center gap-0.5 text-xs text-ink-2 aria-[current=page]:text-accent'

/** On a phone the sidebar would take the whole screen; these four places are what one hand reaches. */
export function BottomBar() {
  const waiting = useAttention().length
  const projectId = useCurrentProjectId()
  const show = useOverlay((overlay) => overlay.show)

  return (
    <nav aria-label="Places" className="flex shrink-0 border-t bg-surface pb-[env(safe-area-inset-bottom)] md:hidden">
      <Link to="/" activeOptions={{ exact: true, includeSearch: false }} className={look}>
        <Count count={waiting}>
          <Inbox size={20} aria-hidden />
        </Count>
        Inbox
      </Link>
      {projectId ? (
        <Link to="/p/$projectId" params={{ projectId }} className={look}>
          <ListTree size={20} aria-hidden />
          Tasks
        </Link>
      ) : null}
      <Link to="/search" className={look}>
        <Search size={20} aria-hidden />
        Search
      </Link>
      <button type="button" className={look} onClick={() => show({ kind: 'palette' })}>
        <Menu size={20} aria-hidden />
        More
      </button>
    </nav>
  )
}

function Count({ count, children }: { count: number; children: ReactNode }) {
  return (
    <span className="relative">
      {children}
      {count > 0 ? (
        <span className="-top-1.5 absolute left-3 rounded-full bg-accent px-1.5 font-semibold text-accent-ink text-xs leading-4">
          {count}
          <span className="sr-only"> waiting</span>
        </span>
      ) : null}
    </span>
  )
}
