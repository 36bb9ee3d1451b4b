import { budgetKinds, everyBudgetKind, printableLine } from '@matrix/protocol'
import { formatAmount, formatCost, formatDuration, formatSpending } from '@matrix/protocol/display'
import type { ProjectView, TaskView } from '@matrix/protocol/http'
import type { colorsFor } from './terminal.ts'
import { fitWidth, padWidth, textWidth } from './text-width.ts'

type Colors = ReturnType<typeof colorsFor>

export type TreeOptions = { width: number; now: number; colors: Colors; all?: boolean }

/** A tree as a person looks at it: who does what, since when, and for how much. */
export function formatTree(project: ProjectView, tasks: readonly TaskView[], options: TreeOptions): string[] {
  const { colors } = options
  const shown = tasks.filter((task) => options.all || task.status !== 'closed' || task.children.length > 0)
  const rows = branchesOf(shown).map(({ task, stem }) => rowOf(task, stem, shortIds(tasks), options))
  const hidden = tasks.length - shown.length
  return [
    headOf(project, tasks, options),
    ...layOut(rows, options),
    ...(hidden > 0 ? [colors.dim(`${hidden} closed, shown with --all`)] : []),
  ]
}

/** The shortest beginning of each id, of 8 characters or more, that no other task has. */
export function shortIds(tasks: readonly { id: string }[]): Map<string, string> {
  const sorted = tasks.map(({ id }) => id).sort()
  const shared = (a = '', b = '') => {
    let length = 0
    while (length < a.length && a[length] === b[length]) length += 1
    return length
  }
  return new Map(
    sorted.map((id, index) => {
      const needed = 1 + Math.max(shared(id, sorted[index - 1]), shared(id, sorted[index + 1]))
      return [id, id.slice(0, Math.max(8, needed))]
    }),
  )
}

function headOf(project: ProjectView, tasks: readonly TaskView[], { colors, width }: TreeOptions): string {
  const count = (activity: TaskView['activity']) => tasks.filter((task) => task.activity === activity).length
  const waitsForYou = tasks.filter(({ needs }) => needs.length > 0).length
  const facts = [
    project.baseBranch ?? '',
    formatCost(costOf(project, tasks)),
    some(count('working') + count('starting'), 'working'),
    some(count('waiting'), 'waiting'),
    some(count('stopped'), 'stopped'),
  ].filter(Boolean)
  const needs =
    waitsForYou > 0 ? colors.yellow(` · ${waitsForYou} ${waitsForYou === 1 ? 'needs' : 'need'} you: matrix inbox`) : ''
  const name = fitWidth(printableLine(project.name), Math.max(8, width - 30))
  return `${colors.bold(name)}  ${colors.dim(facts.join(' · '))}${needs}`
}

/** The tasks are told of every change; the project's own sum may be a little behind. */
function costOf(project: ProjectView, tasks: readonly TaskView[]): { usd: number; unpricedTurns: number } {
  const roots = tasks.filter(({ parentId }) => parentId === null).map(({ treeSpent }) => treeSpent)
  return {
    usd: Math.max(project.costUsd, ...roots.map(({ usd }) => usd)),
    unpricedTurns: Math.max(0, ...roots.map(({ unpricedTurns }) => unpricedTurns)),
  }
}

function some(count: number, word: string): string {
  return count > 0 ? `${count} ${word}` : ''
}

type Branch = { task: TaskView; stem: string }

function branchesOf(tasks: readonly TaskView[]): Branch[] {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const walk = (task: TaskView, stem: string, below: string): Branch[] => {
    const children = task.children.flatMap((id) => byId.get(id) ?? [])
    return [
      { task, stem },
      ...children.flatMap((child, index) => {
        const isLast = index === children.length - 1
        return walk(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`)
      }),
    ]
  }
  return tasks.filter(({ parentId }) => parentId === null || !byId.has(parentId)).flatMap((root) => walk(root, '', ''))
}

type Row = { stem: string; task: TaskView; id: string; state: string; cost: string; age: string; doing: string }

function rowOf(task: TaskView, stem: string, ids: Map<string, string>, { now }: TreeOptions): Row {
  return {
    stem,
    task,
    id: ids.get(task.id) ?? task.id,
    state: task.folder ? '' : stateOf(task),
    cost: spendingOf(task),
    age: task.folder ? '' : formatDuration(now - Date.parse(task.lastAt ?? task.updatedAt)),
    doing: printableLine(task.problem?.message ?? task.doing ?? ''),
  }
}

/** What a task and everything below it has spent, and of how much where there is a budget. */
function spendingOf(task: TaskView): string {
  const amounts = everyBudgetKind.flatMap((kind) => {
    const limit = task[budgetKinds[kind].budget]
    const spent = kind === 'usd' ? formatCost(task.treeSpent) : formatAmount(kind, task.treeSpent[kind])
    const isKnown = kind !== 'usd' || task.treeSpent.unpricedTurns === 0
    if (limit !== undefined && isKnown)
      return [Object.values(formatSpending(kind, task.treeSpent[kind], limit)).join('/')]
    if (limit !== undefined) return [`${spent}/${formatAmount(kind, limit)}`]
    return kind === 'usd' && spent !== '$0' ? [spent] : []
  })
  return amounts.join(', ')
}

/** One word for how a task is; what a person has to do comes first. */
export function stateOf({ needs, activity, status }: Pick<TaskView, 'needs' | 'activity' | 'status'>): string {
  const isBusy = activity === 'working' || activity === 'starting'
  // A review can wait until there is nothing left to come.
  const need = needs.find((one) => one !== 'review' || !isBusy)
  if (need) return needWords[need]
  if (activity !== 'off') return activity
  return status === 'in_progress' ? 'interrupted' : status
}

const needWords: Record<TaskView['needs'][number], string> = {
  approval: 'approve?',
  question: 'asks',
  conflict: 'conflict',
  failure: 'failure',
  budget: 'budget',
  review: 'review',
}

const marks: Record<string, { mark: string; paint: keyof Pick<Colors, 'red' | 'green' | 'yellow' | 'cyan' | 'dim'> }> =
  {
    passed: { mark: '✔', paint: 'green' },
    failed: { mark: '✘', paint: 'red' },
    failure: { mark: '✘', paint: 'red' },
    blocked: { mark: '✘', paint: 'red' },
    conflict: { mark: '!', paint: 'yellow' },
    'approve?': { mark: '?', paint: 'yellow' },
    asks: { mark: '?', paint: 'yellow' },
    budget: { mark: '$', paint: 'yellow' },
    review: { mark: '◆', paint: 'yellow' },
    working: { mark: '●', paint: 'cyan' },
    starting: { mark: '●', paint: 'cyan' },
    waiting: { mark: '◌', paint: 'dim' },
    stopped: { mark: '■', paint: 'yellow' },
    interrupted: { mark: '■', paint: 'yellow' },
    closed: { mark: '−', paint: 'dim' },
  }

function layOut(rows: readonly Row[], { width, colors }: TreeOptions): string[] {
  const widest = (text: (row: Row) => string) => Math.max(0, ...rows.map((row) => textWidth(text(row))))
  const columns = {
    id: widest(({ id }) => id),
    state: widest(({ state }) => state),
    cost: widest(({ cost }) => cost),
    age: widest(({ age }) => age),
  }
  const fixed = columns.id + columns.state + columns.cost + columns.age + 8
  const label = Math.min(
    widest((row) => labelOf(row)),
    Math.max(16, Math.min(60, Math.floor((width - fixed) * 0.75))),
  )
  const room = width - fixed - label - 2

  return rows.map((row) => {
    const { mark, paint } = marks[row.state] ?? { mark: row.task.folder ? '▸' : '○', paint: 'dim' as const }
    const name = printableLine(row.task.title)
    const stem = fitStem(row.stem, label - 2 - Math.min(8, textWidth(name)))
    const title = fitWidth(name, label - textWidth(stem) - 2)
    const head = `${colors.dim(stem)}${colors[paint](mark)} ${row.task.status === 'closed' ? colors.dim(title) : title}`
    const cells = [
      padWidth(head, label),
      colors.dim(padWidth(row.id, columns.id)),
      colors[paint](padWidth(row.state, columns.state)),
      `${' '.repeat(columns.cost - textWidth(row.cost))}${row.cost}`,
      colors.dim(`${' '.repeat(columns.age - textWidth(row.age))}${row.age}`),
      room >= 10 ? colors.dim(fitWidth(row.doing, room)) : '',
    ]
    return cells.join('  ').trimEnd()
  })
}

/** Where the tree is deeper than the line is wide, what is left out is its beginning. */
function fitStem(stem: string, width: number): string {
  return stem.length <= width ? stem : `…${stem.slice(stem.length - width + 1)}`
}

function labelOf({ stem, task }: Row): string {
  return `${stem}x ${printableLine(task.title)}`
}
