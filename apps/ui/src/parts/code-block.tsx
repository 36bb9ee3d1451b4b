import { useEffect, useState } from 'react'
import { classes } from './classes.ts'
import { Coloured, colourCode, type Token } from './colours.tsx'
import { Copy } from './copy.tsx'

type CodeBlockProps = {
  code: string
  language?: string | undefined
  maxHeight?: number
  /** Long lines go on below instead of out of sight, for what somebody has to read to its end. */
  isWrapped?: boolean
}

/** Code as text, coloured once the highlighter has arrived. */
export function CodeBlock({ code, language, maxHeight = 480, isWrapped = false }: CodeBlockProps) {
  const lines = useColours(code, language)
  const look = classes(
    'overflow-auto p-3 font-mono text-sm pointer-coarse:pr-9',
    isWrapped && 'whitespace-pre-wrap break-words',
  )

  return (
    <div className="group relative my-2 overflow-hidden rounded-md border bg-sunken">
      <Copy
        text={code}
        label="Copy the code"
        className="absolute top-1 right-1 bg-sunken opacity-0 focus-visible:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100"
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0} className={look} style={{ maxHeight }}>
        <code>
          {lines
            ? lines.map((tokens, line) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their number, and never move.
                <span key={line}>
                  <Coloured tokens={tokens} />
                  {'\n'}
                </span>
              ))
            : code}
        </code>
      </pre>
    </div>
  )
}

function useColours(code: string, language: string | undefined): Token[][] | undefined {
  const [lines, setLines] = useState<Token[][]>()
  useEffect(() => {
    setLines(undefined)
    let isWanted = true
    void colourCode(code, language).then((found) => {
      if (isWanted) setLines(found)
    })
    return () => {
      isWanted = false
    }
  }, [code, language])
  return lines
}
