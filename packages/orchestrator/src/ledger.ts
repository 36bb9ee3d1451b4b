import type { BudgetPort, BudgetState, Reservation } from '@matrix/provider-loop'

/** What each task has spent, and the money that is set aside for turns in flight. */
export type Ledger = {
  spent(taskId: string): number
  /** A task and everything that is or was below it. */
  treeSpent(taskId: string): number
  /** What a session says that was spent before this process began. */
  load(taskId: string, usd: number): void
  forget(taskId: string): void
  /** The money of one agent: its own budget and that of every task above it. */
  budgetOf(taskId: string): BudgetPort
  /** Whether a budget that the task counts against is used up. */
  isUsedUp(taskId: string): boolean
  /** To be called when a budget was changed: those who wait look again. */
  recheck(): void
}

/** What a task may cost: by itself, or together with everything below it. */
export type BudgetLimit = { taskId: string; budgetUsd: number; counts: 'own' | 'tree' }

export type LedgerOptions = {
  /** Every budget that a task's turns count against, the tightest circle first. */
  limits(taskId: string): BudgetLimit[]
  /** The task and everything below it. */
  below(taskId: string): string[]
  /** What was spent by tasks that hung below this one and were deleted. */
  removedCost(taskId: string): number
  onSpent(taskId: string): void
}

type Level = BudgetState & { reserved: number; reservations: number }

/** Keeps the books of one tree. No two agents can set aside the same dollar. */
export function createLedger({ limits, below, removedCost, onSpent }: LedgerOptions): Ledger {
  const spent = new Map<string, number>()
  const reserved = new Map<string, Set<{ usd: number }>>()
  const waiting = new Set<() => void>()

  const spentBy = (taskId: string) => spent.get(taskId) ?? 0
  const treeSpent = (taskId: string) => below(taskId).reduce((sum, id) => sum + spentBy(id) + removedCost(id), 0)

  /** Every budget that the task counts against, nearest first. */
  function levelsOf(taskId: string): Level[] {
    return limits(taskId).map(({ taskId: owner, budgetUsd, counts }): Level => {
      const members = counts === 'own' ? [owner] : below(owner)
      const held = members.flatMap((id) => [...(reserved.get(id) ?? [])])
      return {
        scope: owner === taskId ? 'task' : 'tree',
        costUsd: counts === 'own' ? spentBy(owner) : treeSpent(owner),
        budgetUsd,
        reserved: held.reduce((sum, { usd }) => sum + usd, 0),
        reservations: held.length,
      }
    })
  }

  function grant(taskId: string, grantedUsd: number): Reservation {
    const own = { usd: grantedUsd }
    const held = reserved.get(taskId) ?? new Set()
    reserved.set(taskId, held.add(own))
    return {
      refused: false,
      grantedUsd,
      settle(costUsd) {
        if (held.delete(own)) {
          spent.set(taskId, spentBy(taskId) + costUsd)
          onSpent(taskId)
          wakeAll()
        }
        return (
          tightest(levelsOf(taskId)) ?? { scope: 'task', costUsd: spentBy(taskId), budgetUsd: Number.POSITIVE_INFINITY }
        )
      },
    }
  }

  function wakeAll(): void {
    for (const wake of [...waiting]) wake()
  }

  function change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  async function reserve(taskId: string, wantedUsd: number, signal: AbortSignal): ReturnType<BudgetPort['reserve']> {
    while (!signal.aborted) {
      const levels = levelsOf(taskId)
      const over = levels.find(isOver)
      if (over) return { refused: true, ...stateOf(over) }
      const free = Math.min(wantedUsd, ...levels.map((level) => level.budgetUsd - level.costUsd - level.reserved))
      if (free >= wantedUsd) return grant(taskId, wantedUsd)
      // What others have set aside may come back; with nobody else, the rest of the budget is all there is.
      if (levels.every(({ reservations }) => reservations === 0)) return grant(taskId, Math.max(0, free))
      await change(signal)
    }
    return grant(taskId, 0)
  }

  return {
    spent: spentBy,
    treeSpent,
    load: (taskId, usd) => void spent.set(taskId, usd),
    forget: (taskId) => void spent.delete(taskId),
    budgetOf: (taskId) => ({ reserve: (wantedUsd, signal) => reserve(taskId, wantedUsd, signal) }),
    isUsedUp: (taskId) => levelsOf(taskId).some(isOver),
    recheck: wakeAll,
  }
}

function isOver({ costUsd, budgetUsd }: Level): boolean {
  return costUsd >= budgetUsd
}

/** The budget that is nearest to its end is the one to be told of. */
function tightest(levels: Level[]): BudgetState | undefined {
  const [first] = levels.toSorted((a, b) => b.costUsd / b.budgetUsd - a.costUsd / a.budgetUsd)
  return first && stateOf(first)
}

function stateOf({ scope, costUsd, budgetUsd }: Level): BudgetState {
  return { scope, costUsd, budgetUsd }
}
