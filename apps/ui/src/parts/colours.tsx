/** A piece of code and its colours in the light and in the dark. */
export type Token = { content: string; color?: string | undefined; dark?: string | undefined }

// Beyond this, colours cost more than they tell.
const longestColoured = 60_000
const longestPatch = 20_000

/** The language of a file, as far as its name tells. */
export function languageOf(path: string | undefined): string | undefined {
  return /\.(\w+)$/.exec(path ?? '')?.[1]
}

/** The tokens of each line, once the highlighter has arrived; nothing for what is too long or in no known language. */
export async function colourCode(code: string, language: string | undefined): Promise<Token[][] | undefined> {
  if (!language || code.length > longestColoured) return undefined
  const { highlight } = await import('./highlighter.ts')
  return highlight(code, language)
}

/** The same for lines of a patch, each starting with ' ', '+' or '-': what was there before and after are two texts. */
export async function colourPatch(
  lines: readonly string[],
  language: string | undefined,
): Promise<(Token[] | undefined)[] | undefined> {
  if (lines.reduce((length, line) => length + line.length, 0) > longestPatch) return undefined
  const sideWithout = (mark: string) => lines.filter((line) => !line.startsWith(mark) && !line.startsWith('\\'))
  const colour = (side: string[]) => colourCode(side.map((line) => line.slice(1)).join('\n'), language)
  const [before, after] = await Promise.all([colour(sideWithout('+')), colour(sideWithout('-'))])
  if (!before || !after) return undefined

  let oldLine = 0
  let newLine = 0
  return lines.map((line) => {
    if (line.startsWith('\\')) return undefined
    if (line.startsWith('-')) return before[oldLine++]
    if (!line.startsWith('+')) oldLine += 1
    return after[newLine++]
  })
}

export function colourStyle({ color, dark }: Omit<Token, 'content'>): { color: string } {
  return { color: `light-dark(${color ?? 'inherit'}, ${dark ?? 'inherit'})` }
}

/** Tokens as they look. */
export function Coloured({ tokens }: { tokens: readonly Token[] }) {
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no name but their place, and never move.
    <span key={index} style={colourStyle(token)}>
      {token.content}
    </span>
  ))
}
