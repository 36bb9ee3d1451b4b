import type { Attention, AttentionKind } from '@matrix/protocol/http'

/** What holds an agent up comes first; what only waits to be seen comes last. */
export const attentionKinds: readonly AttentionKind[] = [
  'approval',
  'question',
  'budget',
  'conflict',
  'failure',
  'review',
]

export const attentionWords: Record<AttentionKind, { one: string; many: string }> = {
  approval: { one: 'Approval', many: 'Approvals' },
  question: { one: 'Question', many: 'Questions' },
  budget: { one: 'Budget', many: 'Budgets' },
  conflict: { one: 'Conflict', many: 'Conflicts' },
  failure: { one: 'Failure', many: 'Failures' },
  review: { one: 'Review', many: 'Reviews' },
}

/** By urgency, and among equals by how long it has waited. */
export function inOrder(items: readonly Attention[]): Attention[] {
  const rank = ({ kind }: Attention) => attentionKinds.indexOf(kind)
  return items.toSorted((one, other) => rank(one) - rank(other) || one.since.localeCompare(other.since))
}

/** Where the selection goes when the list has changed under it: to the same item, else to what took its place. */
export function keepPlace(
  before: readonly string[],
  after: readonly string[],
  chosen: string | undefined,
): string | undefined {
  if (chosen && after.includes(chosen)) return chosen
  const place = chosen ? before.indexOf(chosen) : 0
  return after[Math.min(Math.max(place, 0), after.length - 1)]
}
