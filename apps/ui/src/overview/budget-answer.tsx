import { type BudgetKind, budgetKinds, everyBudgetKind, formatAmount, formatSpending } from '@matrix/protocol/display'
import type { Attention, TaskView } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useTask } from '../live/live.ts'
import { suggestBudget } from '../money/budget.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'

const units = { usd: 'dollars', tokens: 'tokens', minutes: 'minutes' } as const

function findUsedUp(task: TaskView): BudgetKind | undefined {
  return everyBudgetKind.find(
    (kind) => task.treeSpent[kind] >= (task[budgetKinds[kind].budget] ?? Number.POSITIVE_INFINITY),
  )
}

/** How much was spent, and how much more it may be. */
export function BudgetAnswer({ item }: { item: Attention }) {
  const { projectId, taskId, taskTitle } = item
  const task = useTask(projectId, taskId)
  const kind = (task && findUsedUp(task)) ?? 'usd'
  const limit = task?.[budgetKinds[kind].budget]
  const spent = task?.treeSpent[kind] ?? 0
  const suggested = suggestBudget(limit ?? 0, spent)
  const [typed, setTyped] = useState<string>()
  const field = useRef<HTMLInputElement>(null)
  useOffer(
    useMemo(
      (): Action[] => [
        { id: 'inbox.raise', label: 'Raise the budget', group: 'Inbox', keys: 'r', run: () => field.current?.select() },
      ],
      [],
    ),
  )
  const raised = Number(typed ?? suggested)
  const raise = useMutation({
    // The daemon itself tells everybody who was stopped for the lack of it.
    mutationFn: () => client.updateTask({ projectId, taskId, body: { [budgetKinds[kind].budget]: raised } }),
    onSuccess: () => sayDone(`The budget is now ${formatAmount(kind, raised)}`, taskTitle),
  })

  return (
    <div className="flex flex-col gap-3">
      <p>
        {limit === undefined
          ? item.text
          : `${Object.values(formatSpending(kind, spent, limit)).join(' of ')} is spent.`}{' '}
        The agent stopped before its next call; what it has done is kept.
      </p>
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          raise.mutate()
        }}
      >
        <label className="flex items-center gap-2">
          <span>New budget in {units[kind]}</span>
          <Field
            ref={field}
            inputMode="decimal"
            className="w-28!"
            value={typed ?? String(suggested)}
            onChange={(event) => setTyped(event.target.value.replace(/[^\d.]/g, ''))}
          />
        </label>
        <Button type="submit" look="primary" isBusy={raise.isPending} disabled={!(raised > (limit ?? 0))}>
          Raise and resume
        </Button>
      </form>
    </div>
  )
}
