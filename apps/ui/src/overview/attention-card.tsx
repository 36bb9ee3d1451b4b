import type { Attention } from '@matrix/protocol/http'
import { Link } from '@tanstack/react-router'
import { CircleHelp, Eye, GitMerge, ShieldQuestion, TriangleAlert, Wallet } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useLive } from '../live/live.ts'
import { classes } from '../parts/classes.ts'
import { Age } from '../parts/figures.tsx'
import { ApprovalAnswer } from './approval-answer.tsx'
import { attentionWords } from './attention-order.ts'
import { BudgetAnswer } from './budget-answer.tsx'
import { callLine } from './call-input.ts'
import { ConflictAnswer, FailureAnswer, ReviewAnswer } from './plain-answers.tsx'
import { QuestionAnswer } from './question-answer.tsx'

const icons = {
  approval: ShieldQuestion,
  question: CircleHelp,
  budget: Wallet,
  conflict: GitMerge,
  failure: TriangleAlert,
  review: Eye,
}

type AttentionCardProps = { item: Attention; isChosen: boolean; onChoose: () => void }

/** One thing that waits. The one in hand is open; the others show a line. */
export function AttentionCard({ item, isChosen, onChoose }: AttentionCardProps) {
  const card = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isChosen) card.current?.scrollIntoView({ block: 'nearest' })
  }, [isChosen])
  const Icon = icons[item.kind]

  return (
    <article
      ref={card}
      aria-label={`${attentionWords[item.kind].one}: ${item.taskTitle}`}
      className={classes('rounded-lg border bg-surface', isChosen && 'border-accent shadow-[0_0_0_1px_var(--accent)]')}
    >
      <header className="relative flex items-center gap-3 px-3 py-2">
        <Icon size={16} aria-hidden className={item.kind === 'failure' ? 'text-bad' : 'text-warn'} />
        <div className="min-w-0 flex-1">
          <button
            type="button"
            aria-expanded={isChosen}
            onClick={onChoose}
            className="block min-h-6 max-w-full truncate text-left font-medium before:absolute before:inset-0"
          >
            <span className="text-ink-2">{attentionWords[item.kind].one}</span> · {item.taskTitle}
          </button>
          <Whereabouts item={item} />
        </div>
        <Age at={item.since} className="text-ink-3 text-sm" />
      </header>
      {isChosen ? (
        <div className="border-t px-3 py-3">
          <Answer item={item} />
        </div>
      ) : (
        <p className={classes('mx-3 mb-2 line-clamp-2 pl-7 text-ink-2', item.approval && 'font-mono text-sm')}>
          {item.approval ? callLine(item.approval.input) : item.text}
        </p>
      )}
    </article>
  )
}

/** Where in the tree it is, so that a nested agent is not a stranger. */
function Whereabouts({ item: { projectId, taskId } }: { item: Attention }) {
  const path = useLive((live) => {
    const names: string[] = []
    const tasks = live.tasks[projectId] ?? {}
    for (let id = tasks[taskId]?.parentId; id; id = tasks[id]?.parentId) names.unshift(tasks[id]?.title ?? '')
    // A root is called like its project unless somebody gave it another name.
    const project = live.projects[projectId]?.name ?? ''
    return [...(project === names[0] ? [] : [project]), ...names].join(' › ')
  })
  return (
    <Link
      to="/p/$projectId/t/$taskId"
      params={{ projectId, taskId }}
      className="relative block min-h-6 max-w-fit truncate text-ink-3 text-sm leading-6 hover:text-accent hover:underline"
    >
      {path}
    </Link>
  )
}

function Answer({ item }: { item: Attention }) {
  switch (item.kind) {
    case 'approval':
      return <ApprovalAnswer item={item} />
    case 'question':
      return <QuestionAnswer item={item} />
    case 'budget':
      return <BudgetAnswer item={item} />
    case 'conflict':
      return <ConflictAnswer item={item} />
    case 'failure':
      return <FailureAnswer item={item} />
    case 'review':
      return <ReviewAnswer item={item} />
    default:
      return <p>{item.text}</p>
  }
}
