import { Link } from '@tanstack/react-router'
import { ChevronRight, Command, Inbox, Plus, ReceiptText, Search, Settings } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { type Health, useAttention, useLive, useProjects } from '../live/live.ts'
import { MadeUp } from '../money/made-up.tsx'
import { IconButton, Key } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Money } from '../parts/figures.tsx'
import { useOverlay } from './overlay.ts'
import { useCurrentProjectId } from './place.ts'
import { SidebarTree } from './sidebar-tree.tsx'
import { Tour } from './tour.tsx'

/** Where everything is reached from: what waits, the projects, and the tree of the one in front. */
export function Sidebar() {
  const waiting = useAttention().length
  const show = useOverlay((overlay) => overlay.show)

  return (
    <aside aria-label="Sidebar" className="flex w-66 shrink-0 flex-col border-r bg-canvas max-md:hidden">
      <div className="flex h-12 shrink-0 items-center gap-2 px-3">
        <Link to="/" className="flex items-center gap-2 rounded-sm font-semibold text-md">
          <img src="/icon.svg" alt="" className="size-5" /> Matrix
        </Link>
        <HealthMark />
      </div>
      <nav aria-label="Main" className="flex flex-col gap-0.5 px-2 pb-2">
        <Place to="/" icon={<Inbox size={15} aria-hidden />} label="Inbox">
          {waiting > 0 ? (
            <span className="tabular rounded-full bg-accent px-1.5 font-semibold text-accent-ink text-xs leading-4">
              {waiting}
              <span className="sr-only"> waiting</span>
            </span>
          ) : null}
        </Place>
        <Place to="/search" icon={<Search size={15} aria-hidden />} label="Search">
          <Key>/</Key>
        </Place>
      </nav>
      <Projects />
      <Tour />
      <nav aria-label="More" className="flex items-center gap-1 border-t px-2 py-1.5">
        <FooterLink to="/settings" label="Settings" icon={<Settings size={15} aria-hidden />} />
        <FooterLink to="/money" label="Money" icon={<ReceiptText size={15} aria-hidden />} />
        <button
          type="button"
          onClick={() => show({ kind: 'palette' })}
          className="ml-auto flex h-7 items-center gap-1.5 rounded-md px-2 text-ink-2 hover:bg-hover"
        >
          <Command size={13} aria-hidden /> Commands
        </button>
      </nav>
    </aside>
  )
}

const healthWords: Record<Health, string> = {
  connecting: 'Connecting',
  live: 'Live',
  behind: 'Catching up',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
}

function HealthMark() {
  const health = useLive((live) => live.health)
  const tone = health === 'live' ? 'text-ok' : health === 'offline' ? 'text-bad' : 'text-warn'
  return (
    <span role="status" className={`ml-auto flex items-center gap-1.5 text-xs ${tone}`}>
      <span className="size-1.5 rounded-full bg-current" aria-hidden /> {healthWords[health]}
    </span>
  )
}

type PlaceProps = { to: '/' | '/search'; icon: ReactNode; label: string; children: ReactNode }

function Place({ to, icon, label, children }: PlaceProps) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: true, includeSearch: false }}
      className="flex h-7 items-center gap-2 rounded-md px-2 font-medium text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent"
    >
      {icon}
      <span className="flex-1">{label}</span>
      {children}
    </Link>
  )
}

function FooterLink({ to, label, icon }: { to: '/settings' | '/money'; label: string; icon: ReactNode }) {
  return (
    <Link
      to={to}
      aria-label={label}
      title={label}
      activeOptions={{ includeSearch: false }}
      className="flex size-7 items-center justify-center rounded-md text-ink-2 hover:bg-hover aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent"
    >
      {icon}
    </Link>
  )
}

function Projects() {
  const projects = useProjects()
  const currentId = useCurrentProjectId()
  const show = useOverlay((overlay) => overlay.show)
  const [closedId, setClosedId] = useState<string>()

  return (
    <section aria-label="Projects" className="flex min-h-0 flex-1 flex-col">
      <div className="flex h-7 items-center justify-between pr-2 pl-4">
        <h2 className="font-medium text-ink-3 text-xs">Projects</h2>
        <IconButton label="Add a project" size="small" onClick={() => show({ kind: 'add-project' })}>
          <Plus size={14} aria-hidden />
        </IconButton>
      </div>
      {projects.map((project) => {
        const isOpen = project.id === currentId && closedId !== project.id
        return (
          <div key={project.id} className={classes('flex min-h-0 flex-col', isOpen && 'flex-1')}>
            <div className="flex items-center pr-2 pl-1">
              <button
                type="button"
                aria-expanded={isOpen}
                aria-label={`Tree of ${project.name}`}
                onClick={() => setClosedId(isOpen ? project.id : undefined)}
                className="flex size-6 items-center justify-center rounded-sm text-ink-3 hover:text-ink"
              >
                <ChevronRight
                  size={14}
                  aria-hidden
                  className={classes('transition-transform', isOpen && 'rotate-90')}
                />
              </button>
              <Link
                to="/p/$projectId"
                params={{ projectId: project.id }}
                onClick={() => setClosedId(undefined)}
                title={project.path}
                className="flex h-7 min-w-0 flex-1 items-center gap-2 rounded-md px-1 font-medium hover:bg-hover aria-[current=page]:text-accent"
                activeOptions={{ exact: true, includeSearch: false }}
              >
                <span className="truncate">{project.name}</span>
                {project.problem ? <span className="text-bad text-xs">problem</span> : null}
                <span className="ml-auto flex shrink-0 gap-1 text-ink-3 text-xs">
                  <Money usd={project.costUsd} /> <MadeUp projectId={project.id} />
                </span>
              </Link>
            </div>
            {isOpen ? <SidebarTree projectId={project.id} rootTaskId={project.rootTaskId} /> : null}
          </div>
        )
      })}
    </section>
  )
}
