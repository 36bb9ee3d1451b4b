import type { ConfigEntry, ConfigProblem } from '@matrix/protocol/http'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Lock, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { client } from '../live/client.ts'
import { useProjects } from '../live/live.ts'
import { Badge, type Tone } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { ErrorState, Loading } from '../parts/states.tsx'
import { ConfigEditor } from './config-editor.tsx'
import { showValue } from './config-value.ts'

const originWords: Record<ConfigEntry['origin'], { label: string; tone: Tone }> = {
  default: { label: 'built in', tone: 'neutral' },
  global: { label: 'yours, everywhere', tone: 'accent' },
  repo: { label: 'repository', tone: 'ok' },
  local: { label: 'yours, this project', tone: 'accent' },
  environment: { label: 'environment', tone: 'warn' },
}

/** Every setting as it is in force, and where it comes from. */
export function ConfigSection({ projectId }: { projectId: string | undefined }) {
  const projects = useProjects()
  const navigate = useNavigate()
  const [find, setFind] = useState('')
  const [isChangedOnly, setChangedOnly] = useState(false)
  const { data, error, refetch } = useQuery({
    queryKey: ['config', projectId],
    queryFn: ({ signal }) => client.readConfig(projectId ? { projectId } : {}, { signal }),
  })
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />
  const shown = data.entries.filter(
    ({ key, description, origin }) =>
      `${key} ${description}`.toLowerCase().includes(find.trim().toLowerCase()) &&
      !(isChangedOnly && origin === 'default'),
  )

  return (
    <div className="mx-auto max-w-4xl p-4 max-sm:p-2">
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <Choice
          aria-label="Whose settings"
          className="w-auto!"
          value={projectId ?? ''}
          onChange={({ target }) =>
            void navigate({ to: '/settings', search: target.value ? { projectId: target.value } : {}, replace: true })
          }
        >
          <option value="">For all projects</option>
          {projects.map(({ id, name }) => (
            <option key={id} value={id}>
              As {name} sees them
            </option>
          ))}
        </Choice>
        <Field
          type="search"
          aria-label="Find a setting"
          placeholder="Find a setting"
          className="max-w-56"
          value={find}
          onChange={(event) => setFind(event.target.value)}
        />
        <label className="flex items-center gap-2 text-ink-2">
          <input type="checkbox" checked={isChangedOnly} onChange={(event) => setChangedOnly(event.target.checked)} />
          Only what is not built in
        </label>
      </div>
      {data.problems.map((problem) => (
        <Problem key={`${problem.file}:${problem.line}:${problem.key}`} problem={problem} />
      ))}
      <ul className="divide-y rounded-lg border bg-surface">
        {shown.map((entry) => (
          <li key={entry.key}>
            <Entry entry={entry} projectId={projectId} />
          </li>
        ))}
        {shown.length === 0 ? <li className="p-4 text-center text-ink-2">No setting is called that.</li> : null}
      </ul>
    </div>
  )
}

function Problem({ problem: { file, line, message, hint } }: { problem: ConfigProblem }) {
  return (
    <div role="alert" className="mb-2 flex gap-2 rounded-lg border border-warn/40 bg-warn-soft p-3">
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
      <div className="min-w-0">
        <p className="font-medium">{message}</p>
        <p className="text-ink-2">{hint}</p>
        <p className="break-all font-mono text-ink-2 text-xs">
          {file}
          {line === null ? '' : `:${line}`}
        </p>
      </div>
    </div>
  )
}

function Entry({ entry, projectId }: { entry: ConfigEntry; projectId: string | undefined }) {
  const [isEdited, setEdited] = useState(false)
  const origin = originWords[entry.origin]
  return (
    <div className="px-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <div className="min-w-0 flex-1 basis-64">
          <p className="flex items-center gap-1 break-all font-medium font-mono">
            {entry.isSecret ? <Lock size={12} aria-label="Secret" /> : null}
            {entry.key} <Copy text={entry.key} label={`Copy the name of ${entry.key}`} />
          </p>
          <p className="text-ink-2">{entry.description}</p>
        </div>
        <code className="max-w-72 truncate font-mono text-sm" title={showValue(entry)}>
          {showValue(entry)}
        </code>
        <Badge
          tone={origin.tone}
          title={entry.file ? `${entry.file}${entry.line ? `:${entry.line}` : ''}` : origin.label}
        >
          {origin.label}
        </Badge>
        <Button
          size="small"
          look="quiet"
          aria-expanded={isEdited}
          aria-label={`Change ${entry.key}`}
          disabled={entry.settableIn.length === 0}
          onClick={() => setEdited(!isEdited)}
        >
          Change
        </Button>
      </div>
      {isEdited ? <ConfigEditor entry={entry} projectId={projectId} onDone={() => setEdited(false)} /> : null}
    </div>
  )
}
