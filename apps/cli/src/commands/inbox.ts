import type { Client } from '@matrix/client'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import { describeLed, formatDuration } from '@matrix/protocol/display'
import type { Attention } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, openProject, type PlaceOptions } from '../place.ts'
import { shortId } from '../short-id.ts'
import { colorsFor, print, printJson, terminalWidth } from '../terminal.ts'
import { wrapText } from '../text-width.ts'

type InboxOptions = PlaceOptions & { dismiss?: string; json?: boolean }

/** Everything that waits for a person, in all projects or in one. */
export async function inbox(options: InboxOptions): Promise<ExitCode> {
  if (options.dismiss !== undefined) return dismiss(options.dismiss, options)
  const waiting = await readInbox(options)
  if (options.json) printJson(waiting)
  else print(waiting.length === 0 ? 'Nothing waits for you.' : waiting.map(formatAttention).join('\n\n'))
  return exitCode.ok
}

async function readInbox({ project }: PlaceOptions): Promise<Attention[]> {
  if (project === undefined) return (await connect()).listAttention()
  const place = await openProject({ project })
  return place.client.listAttention({ projectId: place.project.id })
}

async function dismiss(id: string, options: InboxOptions): Promise<ExitCode> {
  const client = await connect()
  const one = await findWaiting(client, await client.listAttention(), id)
  await client.dismissAttention({ attentionId: one.id })
  if (options.json) printJson(one)
  else print('Put aside.')
  return exitCode.ok
}

/** The one that is meant by its id or by its task; the only one when none is named. */
export async function findWaiting(
  client: Client,
  waiting: readonly Attention[],
  name: string | undefined,
): Promise<Attention> {
  const roots = name === 'root' ? (await client.listProjects()).map(({ rootTaskId }) => rootTaskId) : []
  const found = name === undefined ? waiting : waiting.filter((one) => isMeant(one, name) || roots.includes(one.taskId))
  const [only, ...others] = found
  if (only && others.length === 0) return only
  if (!only)
    throw new MatrixError(
      'ATTENTION_UNKNOWN',
      name === undefined ? 'Nothing waits.' : `Nothing that waits belongs to “${printableLine(name)}”.`,
      { hint: 'matrix inbox lists what waits, with the command for each.' },
    )
  throw new MatrixError('REQUEST_INVALID', `${found.length} wait: ${found.map((one) => one.id).join(', ')}.`, {
    hint: 'Name one of them.',
  })
}

function isMeant({ id, taskId, taskTitle }: Attention, name: string): boolean {
  if (id === name || id === `approval:${name}`) return true
  if (name.length >= 4 && taskId.startsWith(name.toUpperCase())) return true
  return name.length >= 3 && taskTitle.toLowerCase().includes(name.toLowerCase())
}

const next: Record<Attention['kind'], (one: Attention) => string> = {
  approval: ({ taskId }) => `matrix approve ${shortId(taskId)}`,
  question: ({ taskId }) => `matrix answer ${shortId(taskId)} "…"`,
  conflict: ({ taskId }) => `matrix diff ${shortId(taskId)}`,
  failure: ({ taskId }) => `matrix logs ${shortId(taskId)} --last 20`,
  budget: ({ taskId }) => `matrix task update ${shortId(taskId)} --budget <usd> (or --budget-tokens, --budget-time)`,
  review: ({ taskId }) => `matrix diff ${shortId(taskId)} && matrix merge ${shortId(taskId)} --update-checkout`,
}

export function formatAttention(one: Attention): string {
  const { bold, yellow, dim, cyan } = colorsFor(process.stdout)
  const age = formatDuration(Date.now() - Date.parse(one.since))
  const width = Math.min(100, terminalWidth() - 2)
  return [
    `${yellow(one.kind)}  ${bold(printableLine(one.taskTitle))}  ${dim(`${age} ago`)}`,
    ...wrapText(printable(one.text), width).map((text) => `  ${text}`),
    ...(one.options ?? []).map((option, index) => `  ${index + 1}. ${printableLine(option)}`),
    ...(one.files ?? []).map((file) => `  ${printableLine(file)}`),
    ...(one.approval?.led ?? []).map((each) => yellow(`  led there: ${printableLine(describeLed(each))}`)),
    `  ${dim('→')} ${cyan(next[one.kind](one))}`,
  ].join('\n')
}
