import { printableLine } from '@matrix/protocol'

export type TextPart = { kind: 'same' | 'removed' | 'added'; words: string[] }

/** Longer stretches are shown as replaced as a whole; comparing every word with every other would make a person wait. */
const MAX_COMPARISONS = 1_000_000
const CONTEXT_WORDS = 3
const MAX_SHOWN = 800

/** What changed between two texts, word by word; how the words are spaced does not count. */
export function diffWords(before: string, after: string): TextPart[] {
  const old = wordsOf(before)
  const now = wordsOf(after)
  const start = commonLength(old, now)
  const end = commonLength(old.slice(start).reverse(), now.slice(start).reverse())
  return [
    { kind: 'same', words: old.slice(0, start) } as const,
    ...diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    { kind: 'same', words: old.slice(old.length - end) } as const,
  ].filter(({ words }) => words.length > 0)
}

/** The difference of two texts on one line, safe to print: `Reads [-a file-] {+any file+} from …`. */
export function formatTextDiff(before: string, after: string): string {
  return shorten(printableLine(diffText(before, after)))
}

/** Every changed word, however long that is, with a few of the words around it. */
export function diffText(before: string, after: string): string {
  const parts = diffWords(before, after)
  if (parts.every(({ kind }) => kind === 'same')) return 'only spaces or line breaks differ'
  return parts.map((part, index) => formatPart(part, index === 0, index === parts.length - 1)).join(' ')
}

/** Text from outside as one printable line of bounded length. */
export function excerpt(text: string, length = 120): string {
  return shorten(printableLine(text), length)
}

function shorten(line: string, length = MAX_SHOWN): string {
  return line.length <= length ? line : `${line.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function wordsOf(text: string): string[] {
  return text.match(/\S+/g) ?? []
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1
  return length
}

function diffMiddle(old: string[], now: string[]): TextPart[] {
  if (old.length * now.length > MAX_COMPARISONS)
    return [
      { kind: 'removed', words: old },
      { kind: 'added', words: now },
    ]
  return alongPath(old, now, commonLengths(old, now))
}

/** At `i * width + j`, how many words the rest of both texts, from word i and word j on, have in common in order. */
function commonLengths(old: string[], now: string[]): Uint16Array {
  const width = now.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const at = i * width + j
      lengths[at] =
        old[i] === now[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0)
    }
  return lengths
}

function alongPath(old: string[], now: string[], lengths: Uint16Array): TextPart[] {
  const parts: TextPart[] = []
  const width = now.length + 1
  let i = 0
  let j = 0
  while (i < old.length || j < now.length) {
    const at = i * width + j
    if (i < old.length && j < now.length && old[i] === now[j]) {
      push(parts, 'same', old[i])
      i += 1
      j += 1
    } else if (j >= now.length || (i < old.length && (lengths[at + width] ?? 0) >= (lengths[at + 1] ?? 0))) {
      push(parts, 'removed', old[i])
      i += 1
    } else {
      push(parts, 'added', now[j])
      j += 1
    }
  }
  return parts
}

function push(parts: TextPart[], kind: TextPart['kind'], word = ''): void {
  const last = parts.at(-1)
  if (last?.kind === kind) last.words.push(word)
  else parts.push({ kind, words: [word] })
}

function formatPart({ kind, words }: TextPart, isFirst: boolean, isLast: boolean): string {
  if (kind === 'removed') return `[-${words.join(' ')}-]`
  if (kind === 'added') return `{+${words.join(' ')}+}`
  const head = isFirst ? [] : words.slice(0, CONTEXT_WORDS)
  const tail = isLast ? [] : words.slice(-CONTEXT_WORDS)
  return head.length + tail.length >= words.length ? words.join(' ') : [...head, '…', ...tail].join(' ')
}
