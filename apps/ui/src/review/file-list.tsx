import type { FileChange } from '@matrix/protocol/http'
import { Folder } from 'lucide-react'
import { useMemo } from 'react'
import { classes } from '../parts/classes.ts'
import { toTreeRows } from './file-tree.ts'

type FileListProps = {
  files: readonly FileChange[]
  conflicts: ReadonlySet<string>
  commented: ReadonlySet<string>
  current: string | undefined
  onPick: (path: string) => void
}

const letters: Record<FileChange['status'], string> = {
  added: 'A',
  modified: 'M',
  deleted: 'D',
  renamed: 'R',
  retyped: 'T',
}
const tones: Record<FileChange['status'], string> = {
  added: 'text-ok',
  modified: 'text-warn',
  deleted: 'text-bad',
  renamed: 'text-accent',
  retyped: 'text-warn',
}

/** All files of a change in their folders. */
export function FileList({ files, conflicts, commented, current, onPick }: FileListProps) {
  const rows = useMemo(() => toTreeRows(files), [files])
  return (
    <nav aria-label="Changed files" className="h-full overflow-auto p-2">
      <ul>
        {rows.map((row) => (
          <li
            key={row.kind === 'folder' ? `folder:${row.path}` : row.file.path}
            className="[content-visibility:auto] [contain-intrinsic-size:auto_26px]"
          >
            {row.kind === 'folder' ? (
              <span
                className="flex h-6.5 items-center gap-1.5 truncate text-ink-3 text-sm"
                style={{ paddingLeft: row.depth * 12 }}
              >
                <Folder size={12} aria-hidden className="shrink-0" /> <span className="truncate">{row.name}</span>
              </span>
            ) : (
              <button
                type="button"
                aria-current={row.file.path === current || undefined}
                onClick={() => onPick(row.file.path)}
                style={{ paddingLeft: row.depth * 12 + 4 }}
                className={classes(
                  'flex h-6.5 w-full items-center gap-1.5 rounded-sm pr-1 text-left hover:bg-hover',
                  row.file.path === current && 'bg-accent-soft',
                )}
              >
                <span
                  title={row.file.status}
                  className={classes('w-3 shrink-0 text-center font-mono text-xs', tones[row.file.status])}
                >
                  {letters[row.file.status]}
                </span>
                <span className="min-w-0 flex-1 truncate">{row.name}</span>
                {commented.has(row.file.path) ? (
                  <span className="text-accent text-xs">
                    ●<span className="sr-only">has comments</span>
                  </span>
                ) : null}
                {conflicts.has(row.file.path) ? <span className="font-medium text-bad text-xs">conflict</span> : null}
              </button>
            )}
          </li>
        ))}
      </ul>
    </nav>
  )
}
