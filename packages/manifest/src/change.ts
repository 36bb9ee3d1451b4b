/** `high` may give an agent or a server more than a person agreed to; `low` gives nothing. */
export type Danger = 'high' | 'medium' | 'low'

/** Stable names for programs that read a difference. */
export type ChangeKind =
  | 'agent'
  | 'description'
  | 'side_effects'
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
  | 'tool_definition'
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
export function byDanger(a: Change, b: Change): number {
  return rank[a.danger] - rank[b.danger]
}

/** The entries of two lists by a key: those only here, those only there, and those in both. */
export function matchUp<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
): { removed: Item[]; added: Item[]; kept: [before: Item, after: Item][] } {
  const now = new Map(after.map((item) => [keyOf(item), item]))
  const old = new Set(before.map(keyOf))
  return {
    removed: before.filter((item) => !now.has(keyOf(item))),
    added: after.filter((item) => !old.has(keyOf(item))),
    kept: before.flatMap((item) => {
      const match = now.get(keyOf(item))
      return match === undefined ? [] : [[item, match] as [Item, Item]]
    }),
  }
}
