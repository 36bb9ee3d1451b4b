import { classes } from './classes.ts'

const looks: Record<string, string> = { '+': 'bg-ok-soft', '-': 'bg-bad-soft' }
const marks: Record<string, string> = { '+': 'text-ok', '-': 'text-bad' }
const words: Record<string, string> = { '+': 'added', '-': 'removed' }

/** A short change as its lines, each starting with ' ', '+' or '-'. */
export function PatchLines({ lines, label }: { lines: readonly string[]; label: string }) {
  return (
    <figure
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      tabIndex={0}
      className="my-2 max-h-96 overflow-auto rounded-md border bg-surface py-1 font-mono text-sm"
    >
      {lines.map((line, index) => {
        const mark = line.charAt(0)
        return (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their number, and never move.
            key={index}
            className={classes('flex gap-2 px-2', looks[mark])}
          >
            <span className={classes('w-3 shrink-0 select-none text-center', marks[mark])}>
              <span aria-hidden>{mark}</span>
              {words[mark] ? <span className="sr-only">{words[mark]}</span> : null}
            </span>
            <span className="min-w-0 whitespace-pre-wrap break-words">{line.slice(1) || ' '}</span>
          </div>
        )
      })}
    </figure>
  )
}
