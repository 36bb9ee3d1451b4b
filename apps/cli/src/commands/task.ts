import {
  budgetKinds,
  everyBudgetKind,
  MatrixError,
  type Persistence,
  printable,
  printableLine,
  TaskStatus,
} from '@matrix/protocol'
import {
  displayMessage,
  formatAmount,
  formatCost,
  formatCount,
  formatDuration,
  formatSpending,
  formatUsd,
  oneLine,
} from '@matrix/protocol/display'
import type { TaskDetail, TaskView } from '@matrix/protocol/http'
import { type BudgetOptions, readBudgetEdits, readBudgets } from '../budget-options.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { assertUsable, findTask, openProject, openTask, type PlaceOptions } from '../place.ts'
import { confirm } from '../prompt.ts'
import { shortId } from '../short-id.ts'
import { colorsFor, print, printJson, terminalWidth } from '../terminal.ts'
import { wrapText } from '../text-width.ts'
import { stateOf } from '../tree-lines.ts'

type Options = PlaceOptions & { json?: boolean }

export async function showTask(name: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const detail = await client.getTask({ projectId: project.id, taskId: task.id })
  if (options.json) printJson(detail)
  else print(formatDetail(detail))
  return exitCode.ok
}

export type TaskFields = BudgetOptions & {
  title?: string
  description?: string
  persistent?: string
  color?: string
  skill?: string[]
  status?: string
}

type CreateOptions = Options &
  Omit<TaskFields, 'title' | 'status'> & {
    parent?: string
    draft?: boolean
    folder?: boolean
    agent?: string
    at?: string
  }

export async function createTask(title: string, options: CreateOptions): Promise<ExitCode> {
  const { client, project, task: parent } = await openTask(options.parent ?? 'root', options)
  const task = await client.createTask({
    projectId: project.id,
    body: {
      parentId: parent.id,
      title,
      ...(options.description === undefined ? {} : { description: await readLongText(options.description) }),
      ...(options.draft ? { status: 'draft' as const } : {}),
      ...(options.folder ? { folder: true as const } : {}),
      ...readBudgets(options),
      ...(options.persistent === undefined ? {} : { persistent: readPersistence(options.persistent) }),
      ...(options.color === undefined ? {} : { color: options.color }),
      ...(options.agent === undefined ? {} : { agent: options.agent }),
      ...(options.skill === undefined ? {} : { skills: options.skill }),
      ...(options.at === undefined ? {} : { at: readPosition(options.at) }),
    },
  })
  const next = task.folder ? '' : ` Start it with: matrix send ${shortId(task.id)} "…"`
  return report(task, `Created ${named(task)}.${next}`, options)
}

export async function updateTask(name: string, options: Options & TaskFields): Promise<ExitCode> {
  const { title, description, persistent, color, skill, status } = options
  const body = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description: await readLongText(description) }),
    ...(status === undefined ? {} : { status: readStatus(status) }),
    ...readBudgetEdits(options),
    ...(persistent === undefined ? {} : { persistent: readPersistence(persistent) }),
    ...(color === undefined ? {} : { color: color === 'none' ? null : color }),
    ...(skill === undefined ? {} : { skills: skill.includes('none') ? null : skill }),
  }
  if (Object.keys(body).length === 0)
    throw new MatrixError('REQUEST_INVALID', 'Nothing is to be changed.', { hint: 'See matrix task update --help.' })
  const { client, project, task } = await openTask(name, options)
  const changed = await client.updateTask({ projectId: project.id, taskId: task.id, body })
  return report(changed, `Changed ${named(changed)}.`, options)
}

export async function moveTask(name: string, parent: string, options: Options): Promise<ExitCode> {
  const { client, project, task, tasks } = await openTask(name, options)
  const above = findTask(tasks, parent)
  const moved = await client.updateTask({ projectId: project.id, taskId: task.id, body: { parentId: above.id } })
  return report(moved, `${named(moved)} is below ${named(above)} now.`, options)
}

/** The children that are named come first, in that order; the others keep theirs. */
export async function orderTasks(parent: string, names: readonly string[], options: Options): Promise<ExitCode> {
  const { client, project, task, tasks } = await openTask(parent, options)
  const first = names.map((name) => findTask(tasks, name).id)
  const children = [...first, ...task.children.filter((id) => !first.includes(id))]
  const ordered = await client.reorderTasks({ projectId: project.id, taskId: task.id, body: { children } })
  return report(ordered, `The children of ${named(ordered)} are in the new order.`, options)
}

export async function deleteTask(name: string, options: Options & { yes?: boolean }): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const below = task.children.length > 0 ? ' and everything below it' : ''
  if (!(await confirm(`Delete ${named(task)}${below}? Work that was not merged is kept as a snapshot.`, options)))
    return exitCode.findings
  await client.deleteTask({ projectId: project.id, taskId: task.id })
  return report(task, `Deleted ${named(task)}.`, options)
}

export async function resetTask(name: string, options: Options & { yes?: boolean }): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  if (!(await confirm(`Bring ${named(task)} back to its beginning? Its conversation is archived.`, options)))
    return exitCode.findings
  const fresh = await client.resetTask({ projectId: project.id, taskId: task.id })
  return report(fresh, `${named(fresh)} is at its beginning again.`, options)
}

export async function closeTask(name: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const closed = await client.closeTask({ projectId: project.id, taskId: task.id })
  return report(closed, `Closed ${named(closed)}.`, options)
}

type ForkOptions = Options & { upTo?: string }

export async function forkTask(source: string, target: string, options: ForkOptions): Promise<ExitCode> {
  const { client, project, task, tasks } = await openTask(source, options)
  const heir = findTask(tasks, target)
  const upTo = options.upTo === undefined ? undefined : readSeq(options.upTo)
  const body = { targetTaskId: heir.id, ...(upTo !== undefined && { upTo }) }
  const forked = await client.forkTask({ projectId: project.id, taskId: task.id, body })
  const known = upTo === undefined ? 'knows' : `knew at event ${upTo}`
  return report(forked, `${named(forked)} knows what ${named(task)} ${known}.`, options)
}

export async function rewindTask(name: string, seq: string, options: Options & { yes?: boolean }): Promise<ExitCode> {
  const upTo = readSeq(seq)
  const { client, project, task } = await openTask(name, options)
  if (!(await confirm(`Take ${named(task)} back to event ${upTo}? Files stay as they are.`, options)))
    return exitCode.findings
  const rewound = await client.rewindTask({ projectId: project.id, taskId: task.id, body: { upTo } })
  return report(rewound, `${named(rewound)} goes on after event ${upTo} when it is sent a message.`, options)
}

export async function compactTask(name: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  await client.compactAgent({ projectId: project.id, taskId: task.id })
  return report(task, `${named(task)} sums its conversation up.`, options)
}

/** What waits for an agent but was not read yet, and taking it back. */
export async function withdrawMessage(name: string, messageId: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  await client.withdrawMessage({ projectId: project.id, taskId: task.id, messageId })
  return report(task, 'Took the message back.', options)
}

export async function repairTask(name: string, options: Options): Promise<ExitCode> {
  const { client, project } = await openProject(options)
  assertUsable(project)
  const task = findTask(await client.listTasks({ projectId: project.id }), name)
  const outcome = await client.repairSession({ projectId: project.id, taskId: task.id })
  if (options.json) printJson(outcome)
  else if (!outcome) print('There was nothing to repair.')
  else
    print(
      `${outcome.outcome === 'restored' ? 'Restored it' : 'Cut it off before the damage'}; it goes to event ${outcome.lastSeq}. The damaged file is kept at ${printableLine(outcome.original)}.`,
    )
  return exitCode.ok
}

function report(task: TaskView, text: string, { json }: Options): ExitCode {
  if (json) printJson(task)
  else print(text)
  return exitCode.ok
}

function named({ title }: Pick<TaskView, 'title'>): string {
  return `“${printableLine(title)}”`
}

async function readLongText(text: string): Promise<string> {
  return text === '-' ? (await readInput('-', 1_000_000)).toString('utf8') : text
}

function readPosition(text: string): number {
  const position = Number(text)
  if (!Number.isInteger(position) || position < 0)
    throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not a position.`, { hint: '0 is the first.' })
  return position
}

function readSeq(text: string): number {
  const seq = Number(text)
  if (!Number.isInteger(seq) || seq < 1)
    throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not the number of an event.`, {
      hint: 'matrix logs --raw shows the seq of each event; 1 is the first.',
    })
  return seq
}

function readPersistence(text: string): Persistence {
  if (text === 'no') return false
  if (text === 'reset' || text === 'continue') return text
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} does not say what happens on close.`, {
    hint: 'Give no, reset or continue.',
  })
}

function readStatus(text: string): TaskStatus {
  const status = TaskStatus.safeParse(text)
  if (status.success) return status.data
  throw new MatrixError('REQUEST_INVALID', `${printableLine(text)} is not a status.`, {
    hint: `Give one of ${TaskStatus.options.join(', ')}.`,
  })
}

/** A file of instructions that the agent is given. */
function formatInstruction({ path, origin, notes }: NonNullable<TaskDetail['instructions']>[number]): string {
  const about = [...(origin === 'checkout' ? ['not committed'] : []), ...notes]
  return `${printableLine(path)}${about.length > 0 ? ` (${printableLine(about.join('; '))})` : ''}`
}

function tellCost({ costUsd, treeSpent }: TaskDetail): string {
  const { usd, tokens, minutes, unpricedTurns } = treeSpent
  const own = usd > costUsd && unpricedTurns === 0 ? ` (${formatUsd(costUsd)} without what is below)` : ''
  return `${formatCost(treeSpent)}${own}, ${formatAmount('tokens', tokens)}, ${formatAmount('minutes', minutes)} at work`
}

function formatDetail(task: TaskDetail): string {
  const { bold, dim, yellow, red } = colorsFor(process.stdout)
  const since = task.lastAt ? `, last heard of ${formatDuration(Date.now() - Date.parse(task.lastAt))} ago` : ''
  const budgets = everyBudgetKind.flatMap((kind) => {
    const limit = task[budgetKinds[kind].budget]
    return limit === undefined ? [] : [Object.values(formatSpending(kind, task.treeSpent[kind], limit)).join(' of ')]
  })
  const context =
    task.contextTokens === null
      ? ''
      : `${formatCount(task.contextTokens)}${task.contextWindow ? ` of ${formatCount(task.contextWindow)}` : ''} tokens`
  const facts: [string, string][] = [
    ['state', `${stateOf(task)}${task.doing ? `: ${printableLine(task.doing)}` : ''}${since}`],
    ['status', `${task.status}${task.persistent ? `, ${task.persistent} on close` : ''}`],
    ['cost', tellCost(task)],
    ['budget', budgets.join(', ')],
    ['model', [task.model ?? '', context].filter(Boolean).join(', ')],
    ['agent', printableLine(task.agentName)],
    ['skills', (task.skills ?? []).join(', ')],
    ['branch', task.branch ? `${task.branch}${task.targetBranch ? ` → ${task.targetBranch}` : ''}` : ''],
    ['worktree', printableLine(task.worktreePath ?? '')],
    ['told by', (task.instructions ?? []).map(formatInstruction).join(', ')],
  ]
  return [
    `${bold(printableLine(task.title))}  ${dim(task.id)}`,
    ...facts.filter(([, value]) => value !== '').map(([name, value]) => `  ${dim(name.padEnd(8))}  ${value}`),
    ...(task.problem ? ['', red(printableLine(task.problem.message)), `  ${printableLine(task.problem.hint)}`] : []),
    ...(task.needs.length > 0 ? ['', yellow(`Waits for you (${task.needs.join(', ')}): matrix inbox`)] : []),
    ...(task.pending.length > 0
      ? [
          '',
          'Not read yet:',
          ...task.pending.map((one) => `  ${dim(printableLine(one.id))}  ${oneLine(displayMessage(one))}`),
        ]
      : []),
    ...(task.description ? ['', ...wrapText(printable(task.description), terminalWidth())] : []),
  ].join('\n')
}
