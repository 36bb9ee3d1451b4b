import type { RouteOutput, Routes } from '@matrix/protocol/http'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { client } from '../live/client.ts'
import { useLive, useProjects } from '../live/live.ts'
import { Badge } from '../parts/badge.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Age } from '../parts/figures.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, ErrorState, Loading } from '../parts/states.tsx'
import { markedParts } from './marks.ts'

type Hit = RouteOutput<Routes['search']>['hits'][number]
type Wanted = { q?: string; projectId?: string; kind?: string; since?: string }

const kinds = [
  { id: 'said', label: 'What agents said', types: 'assistant_text' },
  { id: 'asked', label: 'Messages', types: 'message' },
  { id: 'called', label: 'Tool calls', types: 'tool_call' },
  { id: 'answered', label: 'Tool results', types: 'tool_result' },
  { id: 'questions', label: 'Questions and answers', types: 'clarification_requested,clarification_answered' },
  { id: 'errors', label: 'Errors', types: 'error' },
]

const times = [
  { id: 'hour', label: 'In the last hour', ms: 3_600_000 },
  { id: 'day', label: 'In the last day', ms: 86_400_000 },
  { id: 'week', label: 'In the last week', ms: 604_800_000 },
  { id: 'month', label: 'In the last month', ms: 2_592_000_000 },
]

/** Everything that was ever said or done, from one box. */
export function SearchPage() {
  const wanted: Wanted = useSearch({ strict: false })
  const navigate = useNavigate()
  const change = (part: Wanted) => {
    const next = Object.fromEntries(Object.entries({ ...wanted, ...part }).filter(([, value]) => value))
    void navigate({ to: '/search', search: next, replace: true })
  }

  return (
    <Page title="Search">
      <div className="mx-auto max-w-4xl p-4 max-sm:p-2">
        <SearchBox q={wanted.q ?? ''} onChange={(q) => change({ q })} />
        <Filters wanted={wanted} onChange={change} />
        <Results wanted={wanted} />
      </div>
    </Page>
  )
}

const pauseMs = 200

/** Asks once somebody stops typing for a moment. */
function SearchBox({ q, onChange }: { q: string; onChange: (q: string) => void }) {
  const [typed, setTyped] = useState(q)
  useEffect(() => {
    if (typed.trim() === q) return
    const timer = setTimeout(() => onChange(typed.trim()), pauseMs)
    return () => clearTimeout(timer)
  }, [typed, q, onChange])

  return (
    <Field
      autoFocus
      type="search"
      aria-label="Words to look for"
      placeholder="Words to look for, in everything ever said and done"
      className="h-10! px-3 text-md"
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  )
}

function Filters({ wanted, onChange }: { wanted: Wanted; onChange: (part: Wanted) => void }) {
  const projects = useProjects()
  const choice = (label: string, name: keyof Wanted, all: string, options: { id: string; label: string }[]) => (
    <Choice
      aria-label={label}
      className="w-auto!"
      value={wanted[name] ?? ''}
      onChange={(event) => onChange({ [name]: event.target.value })}
    >
      <option value="">{all}</option>
      {options.map((option) => (
        <option key={option.id} value={option.id}>
          {option.label}
        </option>
      ))}
    </Choice>
  )
  return (
    <div className="my-3 flex flex-wrap gap-2">
      {choice(
        'Project',
        'projectId',
        'All projects',
        projects.map(({ id, name }) => ({ id, label: name })),
      )}
      {choice('Kind', 'kind', 'Everything', kinds)}
      {choice('Time', 'since', 'At any time', times)}
    </div>
  )
}

function Results({ wanted }: { wanted: Wanted }) {
  const { q = '', projectId, kind, since } = wanted
  const types = kinds.find(({ id }) => id === kind)?.types
  const ms = times.find(({ id }) => id === since)?.ms
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ['search', q, projectId, types, ms],
    queryFn: ({ signal }) =>
      client.search(
        {
          q,
          limit: 100,
          ...(projectId ? { projectId } : {}),
          ...(types ? { types } : {}),
          ...(ms ? { since: new Date(Date.now() - ms).toISOString() } : {}),
        },
        { signal },
      ),
    enabled: q !== '',
  })

  if (q === '')
    return (
      <Empty icon={<Search size={28} aria-hidden />} title="Look for anything">
        A file, an error, a decision, a command: every conversation of every agent is searched, finished ones too.
      </Empty>
    )
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (isLoading || !data) return <Loading label="Looking" />
  if (data.hits.length === 0) return <Empty title={`Nothing about “${q}”`}>Try fewer words, or fewer filters.</Empty>

  return (
    <>
      <p role="status" className="mb-2 text-ink-2 text-sm">
        {data.hits.length === 100 ? 'The best 100 finds' : `${data.hits.length} finds`}
        {data.complete ? '' : '. The index is still being built: there may be more.'}
      </p>
      <ul className="flex flex-col gap-1.5">
        {data.hits.map((hit) => (
          <li key={`${hit.taskId}-${hit.seq}`}>
            <HitCard hit={hit} />
          </li>
        ))}
      </ul>
    </>
  )
}

const typeWords: Record<string, string> = {
  assistant_text: 'said',
  message: 'message',
  tool_call: 'tool call',
  tool_result: 'tool result',
  clarification_requested: 'question',
  clarification_answered: 'answer',
  error: 'error',
  orchestration_completed: 'end',
}

function HitCard({ hit }: { hit: Hit }) {
  const { projectId, taskId, seq, snippet } = hit
  const title = useLive((live) => live.tasks[projectId]?.[taskId]?.title)
  const project = useLive((live) => live.projects[projectId]?.name)

  return (
    <Link
      to="/p/$projectId/t/$taskId"
      params={{ projectId, taskId }}
      search={{ seq }}
      className="block rounded-lg border bg-surface px-3 py-2 hover:border-line-strong"
    >
      <span className="flex items-center gap-2 text-ink-3 text-sm">
        <span className="truncate font-medium text-ink-2">{title ?? 'A task that was removed'}</span>
        <span className="truncate">{project}</span>
        <span className="ml-auto flex shrink-0 items-center gap-2">
          <Badge>{typeWords[hit.type] ?? hit.type.replaceAll('_', ' ')}</Badge>
          <Age at={hit.ts} />
        </span>
      </span>
      <span className="mt-1 line-clamp-3 block break-words">
        {markedParts(snippet).map(({ text, isMarked, start }) =>
          isMarked ? (
            <mark key={start} className="rounded-sm bg-warn-soft px-0.5 font-medium text-ink">
              {text}
            </mark>
          ) : (
            <span key={start}>{text}</span>
          ),
        )}
      </span>
    </Link>
  )
}
