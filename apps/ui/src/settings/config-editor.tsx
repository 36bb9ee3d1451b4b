import type { ConfigEntry, ConfigLayer, ConfigView } from '@matrix/protocol/http'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Button } from '../parts/button.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { parseValue } from './config-value.ts'

const layerWords: Record<ConfigLayer, string> = {
  global: 'For you, in all projects',
  repo: 'In the repository, for everybody',
  local: 'For you, in this project',
}

type ConfigEditorProps = { entry: ConfigEntry; projectId: string | undefined; onDone: () => void }

/** Sets a value in one layer, or takes it out of the one it comes from. */
export function ConfigEditor({ entry, projectId, onDone }: ConfigEditorProps) {
  const { key, value, isSecret, origin } = entry
  const layers = entry.settableIn.filter((layer) => projectId !== undefined || layer === 'global')
  const cache = useQueryClient()
  const [typed, setTyped] = useState(
    isSecret || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value),
  )
  const [layer, setLayer] = useState<ConfigLayer | undefined>(layers.find((one) => one === origin) ?? layers[0])
  const parsed = parseValue(typed, isSecret ? '' : value)
  const inProject = projectId ? { projectId } : {}
  const keep = (view: ConfigView, said: string) => {
    cache.setQueryData(['config', projectId], view)
    sayDone(said, key)
    onDone()
  }
  const set = useMutation({
    mutationFn: ({ to, next }: { to: ConfigLayer; next: unknown }) =>
      client.setConfig({ layer: to, key, ...inProject, body: { value: next } }),
    onSuccess: (view) => keep(view, 'Saved'),
  })
  const unset = useMutation({
    mutationFn: (from: ConfigLayer) => client.unsetConfig({ layer: from, key, ...inProject }),
    onSuccess: (view) => keep(view, 'Taken out'),
  })

  if (!layer) return <p className="mt-2 text-ink-2">Choose a project above: this can be set only for one of them.</p>
  const canUnset = origin === 'global' || origin === 'repo' || origin === 'local'

  return (
    <form
      className="mt-2 flex flex-wrap items-start gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if ('value' in parsed) set.mutate({ to: layer, next: parsed.value })
      }}
    >
      <div className="min-w-48 flex-1">
        <Field
          aria-label={`New value of ${key}`}
          aria-invalid={'error' in parsed}
          autoFocus
          type={isSecret ? 'password' : 'text'}
          autoComplete="off"
          className="font-mono"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        {'error' in parsed ? <p className="mt-1 text-bad text-sm">{parsed.error}</p> : null}
      </div>
      <Choice
        aria-label="Where to keep it"
        className="w-auto!"
        value={layer}
        onChange={(event) => setLayer(layers.find((one) => one === event.target.value))}
      >
        {layers.map((one) => (
          <option key={one} value={one}>
            {layerWords[one]}
          </option>
        ))}
      </Choice>
      <Button type="submit" look="primary" isBusy={set.isPending} disabled={'error' in parsed}>
        Save
      </Button>
      {canUnset ? (
        <Button isBusy={unset.isPending} onClick={() => unset.mutate(origin)}>
          Take it out
        </Button>
      ) : null}
      <Button look="quiet" onClick={onDone}>
        Cancel
      </Button>
    </form>
  )
}
