import { formatCost, formatSpending } from '@matrix/protocol/display'
import type { TaskView } from '@matrix/protocol/http'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { formatUsd } from '../parts/formats.ts'
import { Meter } from '../parts/meter.tsx'
import { setBudget } from '../task/task-commands.ts'

type BudgetProps = { task: Pick<TaskView, 'id' | 'projectId' | 'title' | 'budgetUsd' | 'treeCostUsd' | 'treeSpent'> }

/** What a task and everything below it may cost, what it has cost, and the way to allow it more. */
export function Budget({ task }: BudgetProps) {
  const [isRaising, setRaising] = useState(false)
  const { budgetUsd, treeCostUsd } = task
  const words =
    budgetUsd === undefined
      ? `${formatCost(task.treeSpent)} spent, no limit`
      : Object.values(formatSpending('usd', treeCostUsd, budgetUsd)).join(' of ')

  return (
    <div className="flex items-center gap-3">
      <div className="min-w-0 flex-1">
        <p className="tabular truncate text-sm">{words}</p>
        {budgetUsd === undefined ? null : (
          <Meter label={`Budget of ${task.title}`} value={treeCostUsd} max={budgetUsd} words={words} />
        )}
      </div>
      <Button
        size="small"
        onClick={() => setRaising(true)}
        aria-label={`${budgetUsd === undefined ? 'Limit' : 'Raise'} the budget of ${task.title}`}
      >
        {budgetUsd === undefined ? 'Limit' : 'Raise'}
      </Button>
      {isRaising ? <BudgetDialog task={task} onClose={() => setRaising(false)} /> : null}
    </div>
  )
}

function BudgetDialog({ task, onClose }: BudgetProps & { onClose: () => void }) {
  const { budgetUsd = 0, treeCostUsd } = task
  const [typed, setTyped] = useState(String(suggestBudget(budgetUsd, treeCostUsd)))
  const usd = Number(typed)
  const isAmount = typed.trim() !== '' && Number.isFinite(usd) && usd >= 0
  const change = useMutation({
    mutationFn: (amount: number | null) => setBudget({ projectId: task.projectId, taskId: task.id }, amount),
    onSuccess: onClose,
  })

  return (
    <Dialog
      isOpen
      onClose={onClose}
      width="narrow"
      title="Budget"
      about={`For “${task.title}” and everything below it. ${formatUsd(treeCostUsd)} is spent.`}
      actions={
        <>
          {task.budgetUsd === undefined ? null : (
            <Button look="quiet" onClick={() => change.mutate(null)}>
              No limit
            </Button>
          )}
          <Button look="primary" disabled={!isAmount} isBusy={change.isPending} onClick={() => change.mutate(usd)}>
            Set to {isAmount ? formatUsd(usd) : '…'}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isAmount) change.mutate(usd)
        }}
      >
        <label className="flex items-center gap-2">
          <span>Dollars</span>
          <Field
            type="number"
            min={0}
            step="0.01"
            inputMode="decimal"
            autoFocus
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        {isAmount && usd < treeCostUsd ? (
          <p role="alert" className="mt-2 text-warn">
            Less than what is spent: no further call would be made.
          </p>
        ) : null}
      </form>
    </Dialog>
  )
}

/** Twice the budget, or enough to go on, rounded to something people would type. */
export function suggestBudget(budgetUsd: number, spentUsd: number): number {
  const wanted = Math.max(budgetUsd * 2, spentUsd * 1.5, 1)
  return wanted < 10 ? Math.ceil(wanted * 2) / 2 : Math.ceil(wanted / 5) * 5
}
