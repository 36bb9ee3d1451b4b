import type { Attention, AttentionKind } from '@matrix/protocol/http'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheckBig } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { askForNotifications } from '../app/notifications.ts'
import { useCurrentProjectId } from '../app/place.ts'
import { usePreferences } from '../app/preferences.ts'
import { FirstSteps } from '../first-run/first-steps.tsx'
import { useAttention, useLive, useProjects } from '../live/live.ts'
import { Button } from '../parts/button.tsx'
import { classes } from '../parts/classes.ts'
import { Page } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'
import { AttentionCard } from './attention-card.tsx'
import { attentionKinds, attentionWords, inOrder, keepPlace } from './attention-order.ts'

/** Everything that waits for a person, cleared from top to bottom without leaving the keyboard. */
export function InboxPage() {
  const hasProjects = useProjects().length > 0
  const all = inOrder(useAttention())
  const [kind, setKind] = useState<AttentionKind>()
  const shown = kind ? all.filter((item) => item.kind === kind) : all
  const { chosen, choose } = useSelection(shown)
  useInboxKeys(shown, chosen, choose)
  if (!hasProjects) return <FirstSteps />

  return (
    <Page title="Inbox" about={all.length > 0 ? <Keys /> : null} actions={<NotifyButton />}>
      <div className="mx-auto max-w-4xl p-4 max-sm:p-2">
        {all.length > 0 ? <KindFilter items={all} kind={kind} onChange={setKind} /> : null}
        <ul aria-label="What waits for you" className="flex flex-col gap-2">
          {shown.map((item) => (
            <li key={item.id}>
              <AttentionCard item={item} isChosen={item.id === chosen} onChoose={() => choose(item.id)} />
            </li>
          ))}
        </ul>
        {all.length === 0 ? <NothingWaits /> : null}
      </div>
    </Page>
  )
}

function Keys() {
  return (
    <span className="pointer-coarse:hidden text-ink-3 text-sm max-md:hidden">
      j and k to move, Enter to open, a to allow, d to deny
    </span>
  )
}

function NothingWaits() {
  const projectId = useCurrentProjectId()
  const working = useLive((live) => Object.values(live.projects).reduce((sum, { agents }) => sum + agents.working, 0))
  return (
    <Empty
      icon={<CircleCheckBig size={28} aria-hidden />}
      title="Nothing waits for you"
      action={
        projectId ? (
          <Link to="/p/$projectId" params={{ projectId }} className="font-medium text-accent hover:underline">
            Look at the tree
          </Link>
        ) : null
      }
    >
      {working > 0
        ? `${working === 1 ? 'One agent is' : `${working} agents are`} working. Questions, approvals and finished work will show up here.`
        : 'No agent is working either. Press c to give one something to do.'}
    </Empty>
  )
}

function NotifyButton() {
  const isWanted = usePreferences(({ wantsNotifications }) => wantsNotifications)
  if (isWanted || !('Notification' in window) || Notification.permission === 'denied') return null
  return (
    <Button size="small" look="quiet" onClick={() => void askForNotifications()}>
      Notify me
    </Button>
  )
}

type KindFilterProps = {
  items: readonly Attention[]
  kind: AttentionKind | undefined
  onChange: (kind: AttentionKind | undefined) => void
}

function KindFilter({ items, kind, onChange }: KindFilterProps) {
  const counts = attentionKinds.map((one) => ({ one, count: items.filter((item) => item.kind === one).length }))
  const chip = (label: string, count: number, value: AttentionKind | undefined) => (
    <button
      key={label}
      type="button"
      aria-pressed={kind === value}
      onClick={() => onChange(value)}
      className={classes(
        'h-7 shrink-0 rounded-full border px-3 pointer-coarse:h-9',
        kind === value ? 'border-accent bg-accent-soft text-accent' : 'bg-surface text-ink-2 hover:bg-hover',
      )}
    >
      {label} <span className="tabular opacity-80">{count}</span>
    </button>
  )
  return (
    <div className="mb-3 flex gap-1.5 overflow-x-auto">
      {chip('All', items.length, undefined)}
      {counts.filter(({ count }) => count > 0).map(({ one, count }) => chip(attentionWords[one].many, count, one))}
    </div>
  )
}

/** The item in hand. It is named in the address, so that a link or a notification can point at it. */
function useSelection(shown: readonly Attention[]) {
  const { item } = useSearch({ strict: false })
  const [chosen, choose] = useState(item)
  const before = useRef<string[]>([])
  const ids = shown.map(({ id }) => id)
  const kept = keepPlace(before.current, ids, chosen)
  useEffect(() => {
    before.current = ids
    if (kept !== chosen) choose(kept)
  })
  useEffect(() => {
    if (item) choose(item)
  }, [item])
  return { chosen: kept, choose }
}

function useInboxKeys(shown: readonly Attention[], chosen: string | undefined, choose: (id: string) => void): void {
  const navigate = useNavigate()
  const ids = shown.map(({ id }) => id).join(' ')
  const item = shown.find(({ id }) => id === chosen)
  const actions = useMemo((): Action[] => {
    const list = ids.split(' ')
    const step = (by: number) => () => {
      const next = list[list.indexOf(chosen ?? '') + by]
      if (next) choose(next)
    }
    const open = () => {
      if (!item) return
      const params = { projectId: item.projectId, taskId: item.taskId }
      const isReview = item.kind === 'review' || item.kind === 'conflict'
      void navigate({ to: isReview ? '/p/$projectId/t/$taskId/review' : '/p/$projectId/t/$taskId', params })
    }
    return [
      { id: 'inbox.next', label: 'Next item', group: 'Inbox', keys: 'j', run: step(1) },
      { id: 'inbox.previous', label: 'Previous item', group: 'Inbox', keys: 'k', run: step(-1) },
      { id: 'inbox.open', label: 'Open the item', group: 'Inbox', keys: 'Enter', run: open },
    ]
  }, [ids, chosen, choose, item, navigate])
  useOffer(actions)
}
