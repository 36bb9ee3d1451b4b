import type { DeviceView } from '@matrix/protocol/http'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Age } from '../parts/figures.tsx'
import { ErrorState, Loading } from '../parts/states.tsx'
import { signOut } from '../sign-in/sign-in.ts'

/** The browsers that may sign in, and a way to stop each of them. */
export function DevicesSection() {
  const { data, error, refetch } = useQuery({ queryKey: ['devices'], queryFn: () => client.listDevices() })
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!data) return <Loading />

  return (
    <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4 max-sm:p-2">
      <ul className="divide-y rounded-lg border bg-surface">
        {data.map((device) => (
          <li key={device.id}>
            <Device device={device} />
          </li>
        ))}
      </ul>
      <div className="rounded-lg border bg-surface p-3">
        <h2 className="font-medium">Add another one</h2>
        <p className="mt-1 text-ink-2">
          Run this where the daemon runs, open Matrix in the other browser, and type the code that is printed. The
          daemon must be reachable from there over an encrypted connection.
        </p>
        <p className="mt-2 flex items-center justify-between rounded-md bg-sunken py-1 pr-1 pl-3 font-mono">
          matrix device add <Copy text="matrix device add" label="Copy the command" />
        </p>
      </div>
      <div>
        <Button onClick={() => void signOut()}>Sign out here</Button>
      </div>
    </div>
  )
}

function Device({ device }: { device: DeviceView }) {
  const [isAsked, setAsked] = useState(false)
  const cache = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => client.revokeDevice({ deviceId: device.id }),
    onSuccess: () => {
      sayDone(`${device.name} cannot sign in any more`)
      setAsked(false)
      if (device.isThisOne) location.reload()
      else void cache.invalidateQueries({ queryKey: ['devices'] })
    },
  })

  return (
    <div className="flex flex-wrap items-center gap-3 px-3 py-2.5">
      <div className="min-w-0 flex-1">
        <p className="flex items-center gap-2 font-medium">
          {device.name}
          {device.isThisOne ? <Badge tone="accent">this browser</Badge> : null}
          {device.state === 'waiting' ? <Badge tone="warn">not confirmed yet</Badge> : null}
        </p>
        <p className="truncate font-mono text-ink-3 text-xs" title={device.id}>
          {device.id}
        </p>
      </div>
      {device.lastSeenAt ? (
        <span className="text-ink-2 text-sm">
          seen <Age at={device.lastSeenAt} /> ago
        </span>
      ) : null}
      <Button size="small" look="danger" aria-label={`Revoke ${device.name}`} onClick={() => setAsked(true)}>
        Revoke
      </Button>
      <Dialog
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        width="narrow"
        title={`Revoke ${device.name}?`}
        actions={
          <>
            <Button onClick={() => setAsked(false)}>Keep it</Button>
            <Button look="danger" isBusy={revoke.isPending} onClick={() => revoke.mutate()}>
              Revoke
            </Button>
          </>
        }
      >
        <p>
          It is signed out at once and needs a new code to come back.
          {device.isThisOne ? ' This is the browser you are using.' : ''}
        </p>
      </Dialog>
    </div>
  )
}
