import { ShieldAlert } from 'lucide-react'

/** Content from an untrusted source; the title names it. */
export function UntrustedMark({ mark }: { mark: string }) {
  return (
    <span className="flex shrink-0 items-center gap-1 text-sm text-warn" title={mark}>
      <ShieldAlert size={13} aria-hidden /> untrusted
    </span>
  )
}
