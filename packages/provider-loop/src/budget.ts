/** What has been spent of what, and by whom it is counted. */
export type BudgetState = { scope: 'task' | 'tree'; costUsd: number; budgetUsd: number }

export type Reservation = {
  refused: false
  /** May be less than was wanted: the rest of the budget. */
  grantedUsd: number
  /** Must be called once, with what the turn really cost. */
  settle(costUsd: number): BudgetState
}

/**
 * Money for one turn, set aside before the model is asked. Whoever owns the budget of a whole tree implements this
 * for all its agents, and no two of them spend the same dollar.
 */
export type BudgetPort = {
  reserve(wantedUsd: number, signal: AbortSignal): Promise<Reservation | ({ refused: true } & BudgetState)>
}

export type BudgetOptions = { budgetUsd?: number; spentUsd?: number; scope?: BudgetState['scope'] }

/** A budget in memory. Without `budgetUsd` it only counts. */
export function createBudget({
  budgetUsd = Number.POSITIVE_INFINITY,
  spentUsd = 0,
  scope = 'task',
}: BudgetOptions = {}): BudgetPort {
  const waiting = new Set<() => void>()
  let spent = spentUsd
  let reserved = 0
  let reservations = 0
  const state = (): BudgetState => ({ scope, costUsd: spent, budgetUsd })

  function grant(grantedUsd: number): Reservation {
    let open = true
    reserved += grantedUsd
    reservations += 1
    return {
      refused: false,
      grantedUsd,
      settle(costUsd) {
        if (open) {
          open = false
          reservations -= 1
          reserved = reservations === 0 ? 0 : reserved - grantedUsd
          spent += costUsd
          for (const wake of [...waiting]) wake()
        }
        return state()
      },
    }
  }

  /** Resolves when somebody settles, or when the signal fires. */
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

  return {
    async reserve(wantedUsd, signal) {
      while (!signal.aborted) {
        if (spent >= budgetUsd) return { refused: true, ...state() }
        const free = budgetUsd - spent - reserved
        if (free >= wantedUsd) return grant(wantedUsd)
        // What others have set aside may come back; with nobody else, the rest of the budget is all there is.
        if (reservations === 0) return grant(free)
        await change(signal)
      }
      return grant(0)
    },
  }
}
