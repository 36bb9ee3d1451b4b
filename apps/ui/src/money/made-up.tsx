import type { ReactNode } from 'react'
import { useLive } from '../live/live.ts'
import { useIsMadeUp } from '../live/status.ts'
import { formatUsd } from '../parts/formats.ts'

const why = 'Made up by the demo: its model is a script, and nothing is spent.'

/** Stands beside money that nobody will ever pay. */
export function MadeUp({ projectId }: { projectId: string }) {
  if (!useIsMadeUp(projectId)) return null
  return <span title={why}>made up</span>
}

/** The same at length, where money is all there is to see. */
export function MadeUpNotice({ projectId }: { projectId: string | undefined }) {
  const isMadeUp = useIsMadeUp(projectId)
  const ofDemo = useLive(({ projects }) =>
    Object.values(projects).reduce((usd, { isDemo, costUsd }) => usd + (isDemo ? costUsd : 0), 0),
  )
  if (isMadeUp) return <Notice>{why} The figures are what a model would have cost.</Notice>
  if (projectId || ofDemo === 0) return null
  return (
    <Notice>
      {formatUsd(ofDemo)} of this is the demo’s, which is made up for as long as a script played its model.
    </Notice>
  )
}

function Notice({ children }: { children: ReactNode }) {
  return (
    <p role="note" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
      {children}
    </p>
  )
}
