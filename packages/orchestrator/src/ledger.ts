import { addSpent, type BudgetKind, budgetKinds, nothingSpent, type Spent, type TaskNode } from '@matrix/protocol'
import {
  type Amounts,
  type BudgetLevel,
  type BudgetPort,
  createChanges,
  isUsedUp,
  mapKinds,
  reserve,
} from '@matrix/provider-loop'

/** What each task has spent, and what is set aside for turns in flight. */
export type Ledger = {
  spent(taskId: string): Spent
  /** A task and everything that is or was below it. */
  treeSpent(taskId: string): Spent
  /** What a session says that was spent before this process began. */
  load(taskId: string, spent: Spent): void
  forget(taskId: string): void
  /** The budgets of one agent: its own and those of every task above it. */
  budgetOf(taskId: string): BudgetPort
  /** Whether a budget that the task counts against is used up. */
  isUsedUp(taskId: string): boolean
  /** Whether a budget in dollars holds for the task. */
  hasDollarBudget(taskId: string): boolean
  /** To be called when a budget was changed: waiting agents look again. */
  recheck(): void
}

/** What a task may spend: by itself, or together with everything below it. */
export type BudgetLimit = { taskId: string; kind: BudgetKind; limit: number; counts: 'own' | 'tree' }

export type LedgerOptions = {
  /** Every budget that a task's turns count against, the tightest circle first. */
  limits(taskId: string): BudgetLimit[]
  /** The task and everything below it. */
  below(taskId: string): string[]
  /** What was spent by tasks that hung below this one and were deleted. */
  removed(taskId: string): Spent
  onSpent(taskId: string): void
}

/** Keeps the books of one tree. No two agents can set aside the same dollar. */
export function createLedger({ limits, below, removed, onSpent }: LedgerOptions): Ledger {
  const books = new Map<string, Spent>()
  const reserved = new Map<string, Set<Amounts>>()
  const changes = createChanges()

  const spentBy = (taskId: string) => books.get(taskId) ?? nothingSpent
  const treeSpent = (taskId: string) =>
    below(taskId).reduce((sum, id) => addSpent(addSpent(sum, spentBy(id)), removed(id)), nothingSpent)

  /** Every budget that the task counts against, nearest first. */
  function levelsOf(taskId: string): BudgetLevel[] {
    return limits(taskId).map(({ taskId: owner, kind, limit, counts }): BudgetLevel => {
      const members = counts === 'own' ? [owner] : below(owner)
      const held = members.flatMap((id) => [...(reserved.get(id) ?? [])])
      return {
        scope: owner === taskId ? 'task' : 'tree',
        kind,
        spent: (counts === 'own' ? spentBy(owner) : treeSpent(owner))[kind],
        limit,
        reserved: held.reduce((sum, amounts) => sum + amounts[kind], 0),
        reservations: held.length,
      }
    })
  }

  function hold(taskId: string, granted: Amounts): () => void {
    const held = reserved.get(taskId) ?? new Set()
    reserved.set(taskId, held.add(granted))
    return () => void held.delete(granted)
  }

  return {
    spent: spentBy,
    treeSpent,
    load: (taskId, spent) => void books.set(taskId, spent),
    forget: (taskId) => void books.delete(taskId),
    budgetOf: (taskId) => ({
      reserve: (wanted, signal) =>
        reserve(wanted, signal, {
          levels: () => levelsOf(taskId),
          hold: (granted) => hold(taskId, granted),
          onSpent(spent) {
            books.set(taskId, addSpent(spentBy(taskId), spent))
            onSpent(taskId)
            changes.notify()
          },
          change: changes.next,
        }),
    }),
    isUsedUp: (taskId) => levelsOf(taskId).some(isUsedUp),
    hasDollarBudget: (taskId) => limits(taskId).some(({ kind }) => kind === 'usd'),
    recheck: changes.notify,
  }
}

/** What the tree itself remembers of a task that was deleted, or of those that were deleted below one. */
export function removedFrom(task: TaskNode | undefined): Spent {
  return { ...nothingSpent, ...mapKinds((kind) => task?.[budgetKinds[kind].removed] ?? 0) }
}

/** What the tree does not know yet of a task's spending. */
export function unrecorded(spent: Spent, task: TaskNode): Amounts {
  return mapKinds((kind) => Math.max(0, spent[kind] - (task[budgetKinds[kind].spent] ?? 0)))
}
