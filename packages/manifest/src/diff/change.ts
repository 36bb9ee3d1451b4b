/** `high` may give an agent or a server more than a person agreed to; `low` gives nothing. */
export type Danger = 'high' | 'medium' | 'low'

/** Stable names for programs that read a difference. */
export type ChangeKind =
  | 'agent'
  | 'description'
  | 'side_effects'
  | 'skills'
  | 'server_added'
  | 'server_removed'
  | 'server_renamed'
  | 'transport'
  | 'launch'
  | 'endpoint'
  | 'environment'
  | 'headers'
  | 'version'
  | 'package'
  | 'dependencies'
  | 'tool_added'
  | 'tool_removed'
  | 'tool_renamed'
  | 'tool_class'
  | 'tool_timeout'
  | 'tool_description'
  | 'tool_schema'
  | 'tool_annotations'
  | 'hidden_characters'
  | 'native_tools'
  | 'policy'
  | 'hooks'

/** One thing that is different now, in words, with what stood there before and after where that can be shown. */
export type Change = {
  kind: ChangeKind
  where: { server?: string; tool?: string }
  danger: Danger
  message: string
  before?: unknown
  after?: unknown
}

const rank: Record<Danger, number> = { high: 0, medium: 1, low: 2 }

/** The most dangerous first; what belongs together stays together. */
export function sortChanges(changes: readonly Change[]): Change[] {
  return [...changes].sort((a, b) => rank[a.danger] - rank[b.danger])
}

export type Matches<Item> = { removed: Item[]; added: Item[]; kept: [before: Item, after: Item][] }

/** Two lists by a key, in the order of that key: what is only in one of them, and what is in both. */
export function matchUp<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
): Matches<Item> {
  const old = new Map(before.map((item) => [keyOf(item), item]))
  const now = new Map(after.map((item) => [keyOf(item), item]))
  const matches: Matches<Item> = { removed: [], added: [], kept: [] }
  for (const key of [...new Set([...old.keys(), ...now.keys()])].sort()) {
    const [left, right] = [old.get(key), now.get(key)]
    if (left !== undefined && right !== undefined) matches.kept.push([left, right])
    else if (left !== undefined) matches.removed.push(left)
    else if (right !== undefined) matches.added.push(right)
  }
  return matches
}

/** Takes each removed item together with an added one of the same likeness, once; what is left was really removed or added. */
export function pairUp<Item>(
  { removed, added, kept }: Matches<Item>,
  likenessOf: (item: Item) => string | undefined,
): Matches<Item> & { renamed: [before: Item, after: Item][] } {
  const byLikeness = new Map<string | undefined, Item[]>()
  // From the last to the first, so that the first is taken first.
  for (const item of added.toReversed()) {
    const likeness = likenessOf(item)
    const alike = byLikeness.get(likeness)
    if (alike) alike.push(item)
    else byLikeness.set(likeness, [item])
  }
  byLikeness.delete(undefined)
  const renamed = removed.flatMap((item): [Item, Item][] => {
    const other = byLikeness.get(likenessOf(item))?.pop()
    return other === undefined ? [] : [[item, other]]
  })
  const paired = new Set(renamed.flat())
  const isLeft = (item: Item) => !paired.has(item)
  return { removed: removed.filter(isLeft), added: added.filter(isLeft), kept, renamed }
}
