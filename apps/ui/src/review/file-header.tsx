import type { FileChange } from '@matrix/protocol/http'
import { ChevronRight } from 'lucide-react'
import { Badge, type Tone } from '../parts/badge.tsx'
import { classes } from '../parts/classes.ts'
import { Copy } from '../parts/copy.tsx'
import { formatCount } from '../parts/formats.ts'

const statusTones: Record<FileChange['status'], Tone> = {
  added: 'ok',
  modified: 'neutral',
  deleted: 'bad',
  renamed: 'accent',
  retyped: 'warn',
}

type FileHeaderProps = {
  file: FileChange
  isOpen: boolean
  isConflicting: boolean
  /** Why the file runs by itself. */
  reasons: readonly string[]
  onToggle: () => void
}

export function FileHeader({ file, isOpen, isConflicting, reasons, onToggle }: FileHeaderProps) {
  return (
    <div className="flex h-9 items-center gap-2 border-y bg-raised px-2">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex min-w-0 flex-1 items-center gap-2 text-left pointer-coarse:h-9"
      >
        <ChevronRight
          size={14}
          aria-hidden
          className={classes('shrink-0 text-ink-3 transition-transform', isOpen && 'rotate-90')}
        />
        <span className="min-w-0 truncate font-mono text-sm" title={file.path}>
          {file.oldPath ? <span className="text-ink-3">{file.oldPath} → </span> : null}
          {file.path}
        </span>
      </button>
      {isConflicting ? <Badge tone="bad">Conflict</Badge> : null}
      {reasons.length > 0 ? (
        <span title={reasons.join('\n')}>
          <Badge tone="warn">Runs by itself</Badge>
        </span>
      ) : null}
      {file.status === 'modified' ? null : <Badge tone={statusTones[file.status]}>{file.status}</Badge>}
      <Counts additions={file.additions} deletions={file.deletions} />
      <Copy text={file.path} label="Copy the path" className="max-sm:hidden" />
    </div>
  )
}

export function Counts({ additions, deletions }: { additions: number | null; deletions: number | null }) {
  if (additions === null && deletions === null) return <span className="text-ink-3 text-sm">binary</span>
  return (
    <span className="tabular shrink-0 text-sm">
      <span className="text-ok">+{formatCount(additions ?? 0)}</span>{' '}
      <span className="text-bad">−{formatCount(deletions ?? 0)}</span>
    </span>
  )
}
