import { useLive } from '../live/live.ts'
import { useStatus } from '../live/status.ts'
import { formatUsd } from '../parts/formats.ts'
import { useCosts } from './costs.ts'
import { type CostRow, splitCosts, sum } from './spending.ts'

const why = 'Made up by the demo: its model is a script, and nothing is spent.'
const words = {
  all: { text: 'made up', why },
  part: { text: 'partly made up', why: 'Part of it was made up by the demo’s script, before a key was there.' },
}

/**
 * How much of what a project spends is made up: without a key its agents are played by a script, which costs nothing however
 * real its figures look.
 */
export function useMadeUp(projectId: string): 'all' | 'part' | 'none' {
  const isDemo = useLive(({ projects }) => projects[projectId]?.isDemo === true)
  const status = useStatus({ enabled: isDemo })
  const costs = useCosts(projectId, 'model', { enabled: isDemo })
  if (!isDemo) return 'none'
  const { paid, simulated } = splitCosts(costs.data ?? [])
  if (paid.length > 0) return simulated.length > 0 ? 'part' : 'none'
  return simulated.length > 0 || status.data?.provider.kind === 'mock' ? 'all' : 'none'
}

/** Stands beside money that nobody will ever pay. */
export function MadeUp({ projectId }: { projectId: string }) {
  const share = useMadeUp(projectId)
  return share === 'none' ? null : <span title={words[share].why}>{words[share].text}</span>
}

/** The same at length, where money is all there is to see. */
export function MadeUpNotice({ rows }: { rows: readonly CostRow[] }) {
  const { paid, simulated } = splitCosts(rows)
  if (simulated.length === 0) return null
  return (
    <p role="note" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
      {paid.length === 0
        ? `${why} The figures are what a model would have cost.`
        : `What the demo’s script made up before a key was there, ${formatUsd(sum(simulated))}, is not counted.`}
    </p>
  )
}
