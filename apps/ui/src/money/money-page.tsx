import type { TaskView } from '@matrix/protocol/http'
import { Link, useParams } from '@tanstack/react-router'
import { Banknote } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { ProjectPage } from '../app/project-page.tsx'
import { useLive } from '../live/live.ts'
import { useNow } from '../parts/clock.ts'
import { Money, Tokens } from '../parts/figures.tsx'
import { formatCount, formatUsd } from '../parts/formats.ts'
import { Empty, ErrorState, Loading } from '../parts/states.tsx'
import { StatusDot, standingOf } from '../parts/status-dot.tsx'
import { Budget } from './budget.tsx'
import { useCosts } from './costs.ts'
import { DayChart } from './day-chart.tsx'
import { MadeUp, MadeUpNotice } from './made-up.tsx'
import {
  addSample,
  burnRate,
  type CostRow,
  type Sample,
  shiftDay,
  splitCosts,
  sum,
  toDays,
  toModels,
} from './spending.ts'

const shownDays = 30
const mostTasks = 50
const readEveryMs = 30_000

/** What was spent, on what, and how fast: of one project, or of all. */
export function MoneyPage() {
  const { projectId } = useParams({ strict: false })
  if (projectId)
    return (
      <ProjectPage>
        <Spending projectId={projectId} />
      </ProjectPage>
    )
  return (
    <div className="h-full overflow-auto">
      <h1 className="border-b bg-surface px-4 py-3 font-semibold text-lg">Money</h1>
      <Spending projectId={undefined} />
    </div>
  )
}

function Spending({ projectId }: { projectId: string | undefined }) {
  const today = new Date().toISOString().slice(0, 10)
  const refetchInterval = readEveryMs
  const days = useCosts(projectId, 'day,model', { since: shiftDay(today, 1 - shownDays), refetchInterval })
  const models = useCosts(projectId, 'model', { refetchInterval })
  const tasks = useTaskList(projectId)
  const error = days.error ?? models.error
  if (error) return <ErrorState error={error} onRetry={() => void Promise.all([days.refetch(), models.refetch()])} />
  if (!days.data || !models.data) return <Loading />

  // Where nothing was ever paid for, what is made up is all there is to show.
  const kind = splitCosts(models.data).paid.length > 0 ? 'paid' : 'simulated'
  const bars = toDays(splitCosts(days.data)[kind], today, shownDays)
  const byModel = toModels(splitCosts(models.data)[kind])
  const total = sum(byModel)
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-6 p-4">
      <MadeUpNotice rows={models.data} />
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4">
        <Figure label="Today" usd={bars.at(-1)?.usd ?? 0} />
        <Figure label="Last 7 days" usd={sum(bars.slice(-7))} />
        <Figure label="Ever" usd={total} />
        <Burn tasks={tasks} />
      </div>
      {total === 0 ? (
        <Empty icon={<Banknote size={28} aria-hidden />} title="Nothing spent yet">
          Every call to a model is counted here the moment it is over.
        </Empty>
      ) : (
        <>
          <Section title={`The last ${shownDays} days`}>
            <DayChart days={bars} models={byModel.map(({ model = '' }) => model)} />
          </Section>
          <Section title="By model">
            <Models rows={byModel} total={total} />
          </Section>
        </>
      )}
      <Section title="Budgets">
        <Budgets tasks={tasks} />
      </Section>
      <Section title="By task">
        <Tasks tasks={tasks} />
      </Section>
    </div>
  )
}

function useTaskList(projectId: string | undefined): TaskView[] {
  const tasks = useLive((live) => live.tasks)
  return useMemo(
    () =>
      Object.entries(tasks).flatMap(([id, ofProject]) =>
        projectId && id !== projectId ? [] : Object.values(ofProject),
      ),
    [tasks, projectId],
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="rounded-lg border bg-surface p-4">
      <h2 className="mb-3 font-semibold">{title}</h2>
      {children}
    </section>
  )
}

function Figure({ label, usd }: { label: string; usd: number }) {
  return (
    <div className="rounded-lg border bg-surface p-3">
      <p className="text-ink-2 text-sm">{label}</p>
      <p className="text-xl">
        <Money usd={usd} />
      </p>
    </div>
  )
}

/** Dollars an hour, measured while the page is open; it says so until it knows. */
function Burn({ tasks }: { tasks: readonly TaskView[] }) {
  const now = useNow()
  const total = tasks.reduce((usd, task) => usd + task.costUsd, 0)
  const [samples, setSamples] = useState<readonly Sample[]>([])
  // biome-ignore lint/correctness/useExhaustiveDependencies: one sample for each tick of the clock, not for each event.
  useEffect(() => setSamples((before) => addSample(before, { at: now, usd: total })), [now])
  const rate = burnRate(samples)
  const working = tasks.filter((task) => standingOf(task).isAlive).length

  return (
    <div className="rounded-lg border bg-surface p-3">
      <p className="text-ink-2 text-sm">Per hour, as of now</p>
      <p className="text-xl">
        {rate === undefined && working > 0 ? <span className="text-ink-3">measuring…</span> : <Money usd={rate ?? 0} />}
      </p>
      <p className="text-ink-3 text-sm">
        {formatCount(working)} {working === 1 ? 'agent works' : 'agents work'}
      </p>
    </div>
  )
}

function Models({ rows, total }: { rows: readonly CostRow[]; total: number }) {
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-left">
        <thead className="text-ink-3 text-sm">
          <tr>
            <th className="font-normal">Model</th>
            <th className="text-right font-normal">Turns</th>
            <th className="text-right font-normal">In</th>
            <th className="text-right font-normal">From cache</th>
            <th className="text-right font-normal">Out</th>
            <th className="text-right font-normal">Share</th>
            <th className="text-right font-normal">Spent</th>
          </tr>
        </thead>
        <tbody className="tabular">
          {rows.map((row) => (
            <tr key={row.model} className="border-t">
              <td className="py-1 font-mono text-sm">{row.model || 'unknown'}</td>
              <td className="text-right">{formatCount(row.turns)}</td>
              <td className="text-right">
                <Tokens count={row.inputTokens + row.cacheReadTokens + row.cacheWriteTokens} />
              </td>
              <td className="text-right">
                <Tokens count={row.cacheReadTokens} />
              </td>
              <td className="text-right">
                <Tokens count={row.outputTokens} />
              </td>
              <td className="text-right">{total > 0 ? Math.round((row.usd / total) * 100) : 0}%</td>
              <td className="text-right">
                <Money usd={row.usd} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Those that will run out first. */
function Budgets({ tasks }: { tasks: readonly TaskView[] }) {
  const limited = tasks
    .filter(({ budgetUsd, status }) => budgetUsd !== undefined && status !== 'closed')
    .toSorted((left, right) => shareOf(right) - shareOf(left))
  if (limited.length === 0) return <p className="text-ink-3">No task has a limit of its own.</p>
  return (
    <ul className="grid gap-x-8 gap-y-3 md:grid-cols-2">
      {limited.slice(0, mostTasks).map((task) => (
        <li key={task.id}>
          <TaskLink task={task} />
          <Budget task={task} />
        </li>
      ))}
    </ul>
  )
}

function shareOf({ budgetUsd = 0, treeCostUsd }: TaskView): number {
  return budgetUsd > 0 ? treeCostUsd / budgetUsd : treeCostUsd > 0 ? Number.POSITIVE_INFINITY : 0
}

function Tasks({ tasks }: { tasks: readonly TaskView[] }) {
  const dearest = tasks
    .filter(({ treeCostUsd }) => treeCostUsd > 0)
    .toSorted((left, right) => right.treeCostUsd - left.treeCostUsd)
  if (dearest.length === 0) return <p className="text-ink-3">No task has cost anything.</p>
  return (
    <table className="w-full text-left">
      <thead className="text-ink-3 text-sm">
        <tr>
          <th className="font-normal">Task</th>
          <th className="text-right font-normal">Itself</th>
          <th className="text-right font-normal">With all below</th>
        </tr>
      </thead>
      <tbody>
        {dearest.slice(0, mostTasks).map((task) => (
          <tr key={task.id} className="border-t">
            <td className="max-w-0 py-1">
              <TaskLink task={task} />
            </td>
            <td className="w-28 text-right">
              <Money usd={task.costUsd} />
            </td>
            <td className="w-32 text-right">
              <Money usd={task.treeCostUsd} /> <MadeUp projectId={task.projectId} />
            </td>
          </tr>
        ))}
      </tbody>
      {dearest.length > mostTasks ? (
        <tfoot>
          <tr className="border-t text-ink-3">
            <td colSpan={3} className="pt-1">
              and {formatCount(dearest.length - mostTasks)} that cost no more than{' '}
              {formatUsd(dearest[mostTasks]?.treeCostUsd ?? 0)}
            </td>
          </tr>
        </tfoot>
      ) : null}
    </table>
  )
}

function TaskLink({ task }: { task: TaskView }) {
  return (
    <Link
      to="/p/$projectId/t/$taskId"
      params={{ projectId: task.projectId, taskId: task.id }}
      className="flex min-w-0 items-center gap-2 hover:underline"
    >
      <StatusDot task={task} silent />
      <span className="truncate">{task.title}</span>
    </Link>
  )
}
