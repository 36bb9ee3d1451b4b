import { Check, Copy as CopyIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from './button.tsx'

/** Puts a text on the clipboard and says so. */
export function Copy({ text, label = 'Copy', className }: { text: string; label?: string; className?: string }) {
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => setDone(false), 1500)
    return () => clearTimeout(timer)
  }, [done])

  return (
    <IconButton
      label={done ? 'Copied' : label}
      size="small"
      className={className}
      onClick={async () => {
        await navigator.clipboard.writeText(text)
        setDone(true)
      }}
    >
      {done ? <Check size={13} className="text-ok" aria-hidden /> : <CopyIcon size={13} aria-hidden />}
    </IconButton>
  )
}
