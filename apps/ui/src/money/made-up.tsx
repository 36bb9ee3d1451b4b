import { useIsMadeUp } from '../live/status.ts'

const why = 'Made up by the demo: its model is a script, and nothing is spent.'

/** Stands beside money that nobody will ever pay. */
export function MadeUp({ projectId }: { projectId: string }) {
  if (!useIsMadeUp(projectId)) return null
  return <span title={why}>made up</span>
}

/** The same at length, where money is all there is to see. */
export function MadeUpNotice({ projectId }: { projectId: string | undefined }) {
  if (!useIsMadeUp(projectId)) return null
  return (
    <p role="note" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
      {why} The figures are what a model would have cost.
    </p>
  )
}
