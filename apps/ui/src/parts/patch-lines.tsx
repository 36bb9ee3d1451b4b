import { useEffect, useState } from 'react'
import { classes } from './classes.ts'
import { Coloured, colourPatch, languageOf, type Token } from './colours.tsx'

const looks: Record<string, string> = { '+': 'bg-ok-soft', '-': 'bg-bad-soft' }
const marks: Record<string, string> = { '+': 'text-ok', '-': 'text-bad' }
const words: Record<string, string> = { '+': 'added', '-': 'removed' }

/** A short change as its lines, each starting with ' ', '+' or '-'. */
export function PatchLines({ lines, path }: { lines: readonly string[]; path: string | undefined }) {
  const colours = usePatchColours(lines, path)
  return (
    <figure
      aria-label={path ?? 'Changes'}
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
            <span className="min-w-0 whitespace-pre-wrap break-words">
              {colours?.[index] ? <Coloured tokens={colours[index]} /> : line.slice(1) || ' '}
            </span>
          </div>
        )
      })}
    </figure>
  )
}

function usePatchColours(lines: readonly string[], path: string | undefined): (Token[] | undefined)[] | undefined {
  const [colours, setColours] = useState<(Token[] | undefined)[]>()
  useEffect(() => {
    setColours(undefined)
    let isWanted = true
    void colourPatch(lines, languageOf(path)).then((found) => {
      if (isWanted) setColours(found)
    })
    return () => {
      isWanted = false
    }
  }, [lines, path])
  return colours
}
