import { ExternalLink } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { Dialog } from './dialog.tsx'

/** A link that somebody else wrote: its true address is shown before it is followed, and only the web is followed at all. */
export function OutsideLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const address = webAddress(href)
  if (!address) return <span title={href}>{children}</span>

  return (
    <>
      <button
        type="button"
        title={address.href}
        className="inline break-words text-left text-accent underline decoration-accent/40 underline-offset-2 hover:decoration-accent"
        onClick={() => setOpen(true)}
      >
        {children}
      </button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Leave Matrix?"
        about="This address was written by an agent or came from a tool."
        actions={
          <>
            <Button onClick={() => setOpen(false)}>Stay</Button>
            <a
              href={address.href}
              target="_blank"
              rel="noopener noreferrer nofollow"
              onClick={() => setOpen(false)}
              className="inline-flex h-8 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-accent-ink"
            >
              <ExternalLink size={14} aria-hidden /> Open {address.host}
            </a>
          </>
        }
      >
        <p className="flex items-start gap-2 break-all rounded-md bg-sunken p-2 font-mono text-sm">
          <span className="flex-1">{address.href}</span>
          <Copy text={address.href} label="Copy the address" />
        </p>
      </Dialog>
    </>
  )
}

function webAddress(href: string | undefined): URL | undefined {
  if (!href || !URL.canParse(href)) return undefined
  const url = new URL(href)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined
}
