import type { Attention } from '@matrix/protocol/http'

/** Everything of one project that waits for a person. Derived from sessions and the tree, so it is kept nowhere else. */
export type AttentionList = {
  list(): Attention[]
  find(id: string): Attention | undefined
  /** Why a task waits for a person, each reason once. */
  kindsOf(taskId: string): Attention['kind'][]
  add(attention: Attention): void
  remove(id: string): boolean
  /** Removes what waits because of a task; of one kind only, if given. */
  removeOf(taskId: string, ...kinds: Attention['kind'][]): void
}

export function createAttentionList(listener: {
  onAdded(attention: Attention): void
  onRemoved(attention: Attention): void
}): AttentionList {
  const waiting = new Map<string, Attention>()

  function remove(id: string): boolean {
    const found = waiting.get(id)
    if (!found) return false
    waiting.delete(id)
    listener.onRemoved(found)
    return true
  }

  return {
    list: () => [...waiting.values()].toSorted((a, b) => (a.since < b.since ? -1 : 1)),
    find: (id) => waiting.get(id),
    kindsOf(taskId) {
      const kinds = new Set<Attention['kind']>()
      for (const attention of waiting.values()) if (attention.taskId === taskId) kinds.add(attention.kind)
      return [...kinds]
    },
    add(attention) {
      waiting.set(attention.id, attention)
      listener.onAdded(attention)
    },
    remove,
    removeOf(taskId, ...kinds) {
      for (const { id, taskId: owner, kind } of [...waiting.values()])
        if (owner === taskId && (kinds.length === 0 || kinds.includes(kind))) remove(id)
    },
  }
}
