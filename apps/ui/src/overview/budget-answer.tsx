import type { Attention } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { sayDone } from '../app/toasts.tsx'
import { client } from '../live/client.ts'
import { useTask } from '../live/live.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { formatUsd } from '../parts/formats.ts'

/** How much was spent, and how much more it may be. */
export function BudgetAnswer({ item }: { item: Attention }) {
  const { projectId, taskId, taskTitle } = item
  const task = useTask(projectId, taskId)
  const suggested = suggestBudget(task?.treeCostUsd ?? 0, task?.budgetUsd ?? 0)
  const [typed, setTyped] = useState<string>()
  const budgetUsd = Number(typed ?? suggested)
  const raise = useMutation({
    mutationFn: async () => {
      await client.updateTask({ projectId, taskId, body: { budgetUsd } })
      await client.sendMessage({
        projectId,
        taskId,
        body: { text: `The budget is now ${formatUsd(budgetUsd)}. Go on.` },
      })
    },
    onSuccess: () => sayDone(`The budget is now ${formatUsd(budgetUsd)}`, taskTitle),
  })

  return (
    <div className="flex flex-col gap-3">
      <p>{item.text}</p>
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

/** Half as much again as was allowed or spent, in round figures. */
function suggestBudget(spentUsd: number, budgetUsd: number): number {
  const enough = Math.max(spentUsd, budgetUsd) * 1.5
  return enough < 10 ? Math.ceil(enough * 2) / 2 : Math.ceil(enough)
}
