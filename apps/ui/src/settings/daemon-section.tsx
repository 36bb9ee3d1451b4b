import type { ReactNode } from 'react'
import { useStatus } from '../live/status.ts'
import { Badge } from '../parts/badge.tsx'
import { Copy } from '../parts/copy.tsx'
import { Age } from '../parts/figures.tsx'
import { ErrorState, Loading } from '../parts/states.tsx'

const providerWords = {
  configured: { label: 'configured', tone: 'ok' },
  mock: { label: 'the built-in mock', tone: 'neutral' },
  missing: { label: 'none', tone: 'bad' },
} as const

/** What runs here, since when, and on what. */
export function DaemonSection() {
  const { data, error, refetch } = useStatus({ refetchInterval: 10_000 })
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  const provider = providerWords[data.provider.kind]

  return (
    <dl className="mx-auto my-4 max-w-3xl divide-y rounded-lg border bg-surface">
      <Line name="Version">{data.version}</Line>
      <Line name="Running for">
        <Age at={data.startedAt} />, process {data.pid}
      </Line>
      <Line name="Data">
        <span className="break-all font-mono">{data.dataDirectory}</span>{' '}
        <Copy text={data.dataDirectory} label="Copy the data directory" />
      </Line>
      <Line name="Agents">
        {data.agents.live} launched, {data.agents.working} working
      </Line>
      <Line name="Provider">
        <Badge tone={provider.tone}>{provider.label}</Badge> {data.provider.model}
      </Line>
      <Line name="Sandbox">
        <Badge tone={data.sandbox.isActive ? 'ok' : 'bad'}>{data.sandbox.isActive ? 'active' : 'off'}</Badge>{' '}
        {data.sandbox.reason}
      </Line>
      <Line name="API">
        <a href="/api/docs" className="text-accent underline">
          Every operation, described
        </a>
      </Line>
    </dl>
  )
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-4 px-3 py-2.5">
      <dt className="w-32 shrink-0 text-ink-2">{name}</dt>
      <dd className="min-w-0 flex-1">{children}</dd>
    </div>
  )
}
