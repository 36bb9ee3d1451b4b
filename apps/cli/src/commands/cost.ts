import { MatrixError, printableLine } from '@matrix/protocol'
import { addCosts, formatCost, formatCount, formatUsd, isSimulatedModel } from '@matrix/protocol/display'
import type { RouteOutput, Routes } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, openProject, openTask, type PlaceOptions } from '../place.ts'
import { type Column, formatTable } from '../table.ts'
import { print, printJson, terminalWidth } from '../terminal.ts'
import { readMoment } from './search.ts'

type CostOptions = PlaceOptions & { by?: string; task?: string; since?: string; everywhere?: boolean; json?: boolean }
type Cost = RouteOutput<Routes['readCosts']>[number]

const fields = ['task', 'day', 'model', 'session'] as const

/** What was spent, by task, day or model. */
export async function cost(options: CostOptions): Promise<ExitCode> {
  const by = readFields(options.by ?? 'task')
  const { client, filter, titleOf } = await scopeOf(options)
  const since = options.since === undefined ? {} : { since: readMoment(options.since) }
  const costs = await client.readCosts({ by: by.join(','), ...filter, ...since })
  if (options.json) printJson(costs)
  else if (costs.length === 0) print('Nothing was spent.')
  else {
    print(formatCosts(costs, by, titleOf))
    const madeUp = sumSimulated(await client.readCosts({ by: 'model', ...filter, ...since }))
    if (madeUp > 0) print(`${formatUsd(madeUp)} of this was made up by a script, and nobody pays it.`)
  }
  return exitCode.ok
}

function sumSimulated(models: readonly Cost[]): number {
  return models.reduce((sum, { model = '', usd }) => (isSimulatedModel(model) ? sum + usd : sum), 0)
}

type Field = (typeof fields)[number]

function readFields(text: string): Field[] {
  return text.split(',').map((name) => {
    const field = fields.find((one) => one === name.trim())
    if (!field)
      throw new MatrixError('REQUEST_INVALID', `Costs cannot be summed by ${printableLine(name)}.`, {
        hint: 'Give any of task, day, model and session, separated by commas.',
      })
    return field
  })
}

async function scopeOf(options: CostOptions) {
  if (options.everywhere) return { client: await connect(), filter: {}, titleOf: (id: string) => id }
  const { client, project, task, tasks } = options.task
    ? await openTask(options.task, options)
    : { ...(await openProject(options)), task: undefined, tasks: undefined }
  const titles = new Map(
    (tasks ?? (await client.listTasks({ projectId: project.id }))).map(({ id, title }) => [id, title]),
  )
  return {
    client,
    filter: { projectId: project.id, ...(task ? { taskId: task.id } : {}) },
    titleOf: (id: string) => titles.get(id) ?? id,
  }
}

function formatCosts(costs: readonly Cost[], by: readonly Field[], titleOf: (id: string) => string): string {
  const columns: Column[] = [
    ...by.map((field, index) => ({ heading: field, flexible: index === 0 })),
    ...['cost', 'turns', 'in', 'cached', 'out'].map((heading) => ({ heading, align: 'right' as const })),
  ]
  const rows = costs.map((one) => [
    ...by.map((field) => printableLine(field === 'task' ? titleOf(one.task ?? '') : (one[field] ?? ''))),
    ...numbersOf(one),
  ])
  const total = costs.reduce((sum, one) => addCosts(sum, one))
  const sum = costs.length > 1 ? [[...by.map((_, index) => (index === 0 ? 'together' : '')), ...numbersOf(total)]] : []
  return formatTable(columns, [...rows, ...sum], terminalWidth()).join('\n')
}

function numbersOf({
  usd,
  unpricedTurns,
  turns,
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: Cost): string[] {
  return [
    formatCost({ usd, unpricedTurns }),
    String(turns),
    formatCount(inputTokens + cacheReadTokens + cacheWriteTokens),
    formatCount(cacheReadTokens),
    formatCount(outputTokens),
  ]
}
