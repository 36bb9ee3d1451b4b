import {
  addSpent,
  type BudgetKind,
  type BudgetState,
  everyBudgetKind,
  nothingSpent,
  type Spent,
} from '@matrix/protocol'

/** One number for each kind of budget. */
export type Amounts = Record<BudgetKind, number>

/** The most that a turn can take; dollars are missing where the model has no known price. */
export type Wanted = Omit<Amounts, 'usd'> & { usd: number | undefined }

export type Reservation = {
  refused: false
  /** May be less than was wanted: the rest of the budget. */
  granted: Amounts
  /** Must be called once, with what the turn really took. Answers with every budget that it counts against. */
  settle(spent: Spent): BudgetState[]
}

/** `unpriced`: there is a budget in dollars, and what the turn costs cannot be known. */
export type Refusal = { refused: true; reason: 'used up' | 'unpriced' } & BudgetState

/**
 * A turn's share of every budget, set aside before the model is asked. The owner of the budgets of a whole tree implements this
 * for all its agents, and no two of them spend the same dollar.
 */
export type BudgetPort = {
  reserve(wanted: Wanted, signal: AbortSignal): Promise<Reservation | Refusal>
}

/** A budget, and what is set aside of it for turns in flight. */
export type BudgetLevel = BudgetState & { reserved: number; reservations: number }

export type ReservationsOptions = {
  levels(): BudgetLevel[]
  /** Takes note of an amount that is set aside; the answer gives it back. */
  hold(granted: Amounts): () => void
  onSpent(spent: Spent): void
  /** Resolves when somebody settles or a budget was changed, or when the signal fires. */
  change(signal: AbortSignal): Promise<void>
}

/** Decides about one reservation: granted, granted in part, refused, or made to wait for what others have set aside. */
export async function reserve(
  wanted: Wanted,
  signal: AbortSignal,
  { levels, hold, onSpent, change }: ReservationsOptions,
): Promise<Reservation | Refusal> {
  const grant = (granted: Amounts): Reservation => {
    const release = hold(granted)
    let isOpen = true
    const settle = (spent: Spent) => {
      if (isOpen) {
        isOpen = false
        release()
        onSpent(spent)
      }
      return levels().map(stateOf)
    }
    return { refused: false, granted, settle }
  }

  while (!signal.aborted) {
    const current = levels()
    const dollars = current.find(({ kind }) => kind === 'usd')
    if (wanted.usd === undefined && dollars) return { refused: true, reason: 'unpriced', ...stateOf(dollars) }
    const over = current.find(isUsedUp)
    if (over) return { refused: true, reason: 'used up', ...stateOf(over) }
    const scarce = current.filter((level) => freeOf(level) < (wanted[level.kind] ?? 0))
    // What others have set aside may come back; with nobody else, the rest of the budget is all there is.
    if (scarce.every(({ reservations }) => reservations === 0))
      return grant(mapKinds((kind) => share(current, wanted, kind)))
    await change(signal)
  }
  return grant(mapKinds(() => 0))
}

export function isUsedUp({ spent, limit }: BudgetState): boolean {
  return spent >= limit
}

export function mapKinds(amountOf: (kind: BudgetKind) => number): Amounts {
  return Object.fromEntries(everyBudgetKind.map((kind) => [kind, amountOf(kind)])) as Amounts
}

function share(levels: BudgetLevel[], wanted: Wanted, kind: BudgetKind): number {
  const free = levels.filter((level) => level.kind === kind).map(freeOf)
  return Math.max(0, Math.min(wanted[kind] ?? 0, ...free))
}

function freeOf({ limit, spent, reserved }: BudgetLevel): number {
  return limit - spent - reserved
}

function stateOf({ scope, kind, spent, limit }: BudgetState): BudgetState {
  return { scope, kind, spent, limit }
}

export type BudgetOptions = {
  limits?: Partial<Amounts>
  spent?: Partial<Spent>
  scope?: BudgetState['scope']
}

/** Budgets in memory. Without `limits` they only count. */
export function createBudget({ limits = {}, spent: before = {}, scope = 'task' }: BudgetOptions = {}): BudgetPort {
  const changes = createChanges()
  const held = new Set<Amounts>()
  let spent: Spent = { ...nothingSpent, ...before }
  const levels = () =>
    everyBudgetKind.flatMap((kind): BudgetLevel[] => {
      const limit = limits[kind]
      if (limit === undefined) return []
      const reserved = [...held].reduce((sum, each) => sum + each[kind], 0)
      return [{ scope, kind, spent: spent[kind], limit, reserved, reservations: held.size }]
    })
  const options: ReservationsOptions = {
    levels,
    hold(granted) {
      held.add(granted)
      return () => void held.delete(granted)
    },
    onSpent(one) {
      spent = addSpent(spent, one)
      changes.notify()
    },
    change: changes.next,
  }
  return { reserve: (wanted, signal) => reserve(wanted, signal, options) }
}

/** Those who wait for a change, of money or of a limit. */
export function createChanges(): { notify(): void; next(signal: AbortSignal): Promise<void> } {
  const waiting = new Set<() => void>()
  return {
    notify() {
      for (const wake of [...waiting]) wake()
    },
    next: (signal) =>
      new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      }),
  }
}
