export type DiffPart = { kind: 'same' | 'removed' | 'added'; text: string }

const MAX_WORDS = 2000

/**
 * What changed between two texts, word by word. Texts too long or too different to be compared this way come back whole, so that
 * nothing an attacker writes makes it slow.
 */
export function diffWords(before: string, after: string): DiffPart[] {
  if (before === after) return before === '' ? [] : [{ kind: 'same', text: before }]
  const left = toWords(before)
  const right = toWords(after)
  if (left.length > MAX_WORDS || right.length > MAX_WORDS) return replaced(before, after)

  const start = countWhile((index) => index < left.length && index < right.length && left[index] === right[index])
  const room = Math.min(left.length, right.length) - start
  const end = countWhile((index) => index < room && left.at(-1 - index) === right.at(-1 - index))
  return joinParts([
    { kind: 'same', text: left.slice(0, start).join('') },
    ...compare(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    { kind: 'same', text: left.slice(left.length - end).join('') },
  ])
}

/** Whether two texts have enough in common for their differences to say something. */
export function areAlike(parts: readonly DiffPart[]): boolean {
  const lengthOf = (kinds: DiffPart['kind'][]) =>
    parts.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { text }) => sum + text.trim().length, 0)
  return lengthOf(['same']) * 2 >= Math.max(lengthOf(['removed']), lengthOf(['added']))
}

function toWords(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []
}

function replaced(before: string, after: string): DiffPart[] {
  return joinParts([
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ])
}

function countWhile(holds: (index: number) => boolean): number {
  let count = 0
  while (holds(count)) count += 1
  return count
}

/** The longest common subsequence, in one table of bounded size. */
function compare(left: readonly string[], right: readonly string[]): DiffPart[] {
  const width = right.length + 1
  if ((left.length + 1) * width > MAX_WORDS * 500) return replaced(left.join(''), right.join(''))
  const table = new Uint16Array((left.length + 1) * width)
  const at = (row: number, column: number) => table[row * width + column] ?? 0
  for (let row = left.length - 1; row >= 0; row -= 1)
    for (let column = right.length - 1; column >= 0; column -= 1)
      table[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))

  const parts: DiffPart[] = []
  let row = 0
  let column = 0
  while (row < left.length || column < right.length) {
    const [old, fresh] = [left[row], right[column]]
    if (old !== undefined && old === fresh) {
      parts.push({ kind: 'same', text: old })
      row += 1
      column += 1
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      parts.push({ kind: 'removed', text: old })
      row += 1
    } else {
      parts.push({ kind: 'added', text: fresh ?? '' })
      column += 1
    }
  }
  return parts
}

function joinParts(parts: readonly DiffPart[]): DiffPart[] {
  const joined: DiffPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.text === '') continue
    if (last?.kind === part.kind) joined[joined.length - 1] = { kind: last.kind, text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}
