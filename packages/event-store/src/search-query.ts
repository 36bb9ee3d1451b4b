/** One thing to look for: words that follow each other, or the beginning of a word. */
export type SearchTerm = { words: string[]; prefix: boolean }

/** `fix "login page" auth*`: words, phrases in quotes, beginnings with a star. All must occur; no other character means anything. */
export function parseSearch(text: string): SearchTerm[] {
  const parts = text.matchAll(/"([^"]*)"|([^\s"]+)/gu)
  return [...parts].flatMap(([, phrase, word]) => {
    const words = (phrase ?? word ?? '').match(/[\p{L}\p{N}\p{M}_]+/gu) ?? []
    return words.length === 0 ? [] : { words: [...words], prefix: word?.endsWith('*') ?? false }
  })
}

/** The same as an FTS5 expression over one column. */
export function formatMatch(terms: SearchTerm[], column: string): string {
  return terms.map(({ words, prefix }) => `${column} : "${words.join(' ')}"${prefix ? ' *' : ''}`).join(' AND ')
}

/** A piece of the text around the first thing found, and where in it the words are. */
export type Snippet = { text: string; marks: [start: number, end: number][] }

export function findSnippet(text: string, terms: SearchTerm[], around = 80): Snippet {
  const found = new RegExp(terms.map(formatPattern).join('|') || '$^', 'giu')
  const first = Math.max(0, text.search(found))
  const from = Math.max(0, first - around)
  const piece = text.slice(from, first + 2 * around).replace(/\s/gu, ' ')
  const before = from > 0 ? '…' : ''
  const after = first + 2 * around < text.length ? '…' : ''
  const marks = [...piece.matchAll(found)].map(({ index, 0: match }): [number, number] => [
    index + before.length,
    index + before.length + match.length,
  ])
  return { text: `${before}${piece}${after}`, marks }
}

function formatPattern({ words, prefix }: SearchTerm): string {
  return `(?<![\\p{L}\\p{N}_])${words.join('[^\\p{L}\\p{N}_]+')}${prefix ? '[\\p{L}\\p{N}_]*' : '(?![\\p{L}\\p{N}_])'}`
}
