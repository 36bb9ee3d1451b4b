import { GitFork, Link2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { Session } from '../live/session.ts'
import { IconButton } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { formatMoment } from '../parts/formats.ts'
import { RewindDialog } from './rewind-dialog.tsx'
import { forkFrom } from './task-commands.ts'
import { type AnyEvent, isEvent } from './transcript-items.ts'

/** The number, the moment and the address of an event, and the ways to go on from it. */
export function RowTools({ seq, event, session }: { seq: number; event: AnyEvent; session: Session }) {
  const [isRewinding, setRewinding] = useState(false)
  const place = { projectId: session.projectId, taskId: session.taskId }
  const ts = 'ts' in event && typeof event.ts === 'string' ? event.ts : undefined
  const address = () => {
    const url = new URL(window.location.href)
    url.search = `?seq=${seq}`
    return url.href
  }
  return (
    <>
      <div className="-top-3 pointer-coarse:top-0 absolute right-0 pointer-coarse:right-6 z-10 flex items-center gap-1 rounded-md border bg-raised px-1 text-ink-3 text-xs shadow-lift pointer-coarse:[&_button]:size-10">
        <span className="tabular whitespace-nowrap px-1">
          #{seq}
          {ts ? <span className="max-sm:hidden"> · {formatMoment(ts)}</span> : null}
        </span>
        {isEvent(event, 'assistant_text') ? <Copy text={event.text} label="Copy the text" /> : null}
        <CopyAddress address={address} />
        <IconButton label="Fork from here" size="small" onClick={() => void forkFrom(place, seq)}>
          <GitFork size={13} aria-hidden />
        </IconButton>
        <IconButton label="Rewind to here" size="small" onClick={() => setRewinding(true)}>
          <Undo2 size={13} aria-hidden />
        </IconButton>
      </div>
      {isRewinding ? <RewindDialog place={place} seq={seq} onClose={() => setRewinding(false)} /> : null}
    </>
  )
}

function CopyAddress({ address }: { address: () => string }) {
  return (
    <IconButton label="Copy a link to this event" size="small" onClick={() => navigator.clipboard.writeText(address())}>
      <Link2 size={13} aria-hidden />
    </IconButton>
  )
}
