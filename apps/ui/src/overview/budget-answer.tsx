import type { Attention } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { useMemo, useRef, useState } from 'react'
import { type Action, useOffer } from '../app/actions.ts'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useTask } from '../live/live.ts'
import { suggestBudget } from '../money/budget.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { formatUsd } from '../parts/formats.ts'

/** How much was spent, and how much more it may be. */
export function BudgetAnswer({ item }: { item: Attention }) {
  const { projectId, taskId, taskTitle } = item
  const task = useTask(projectId, taskId)
  const suggested = suggestBudget(task?.budgetUsd ?? 0, task?.treeCostUsd ?? 0)
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
  const budgetUsd = Number(typed ?? suggested)
  const raise = useMutation({
    // The daemon itself tells everybody who was stopped for the lack of it.
    mutationFn: () => client.updateTask({ projectId, taskId, body: { budgetUsd } }),
    onSuccess: () => sayDone(`The budget is now ${formatUsd(budgetUsd)}`, taskTitle),
  })

  return (
    <div className="flex flex-col gap-3">
      <p>
        {formatUsd(task?.costUsd ?? 0)} of {formatUsd(task?.budgetUsd ?? 0)} is spent. The agent stopped before its next
        call; what it has done is kept.
      </p>
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          raise.mutate()
        }}
      >
        <label className="flex items-center gap-2">
          <span>New budget in dollars</span>
          <Field
            ref={field}
            inputMode="decimal"
            className="w-28!"
            value={typed ?? String(suggested)}
            onChange={(event) => setTyped(event.target.value.replace(/[^\d.]/g, ''))}
          />
        </label>
        <Button type="submit" look="primary" isBusy={raise.isPending} disabled={!(budgetUsd > (task?.budgetUsd ?? 0))}>
          Raise and go on
        </Button>
      </form>
    </div>
  )
}
