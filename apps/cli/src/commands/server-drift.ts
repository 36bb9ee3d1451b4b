import { type DefinitionFinding, formatDefinitionFinding, lintText } from '@matrix/manifest'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import type { ServerDrift } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openTask, type PlaceOptions } from '../place.ts'
import { confirm, isInteractive } from '../prompt.ts'
import { colorsFor, print, printError, printJson } from '../terminal.ts'

type Options = PlaceOptions & { task: string; json?: boolean }

/** Shows what is different about a server, and locks it once somebody agrees to exactly that. */
export async function approveServer(alias: string, options: Options & { digest?: string }): Promise<ExitCode> {
  const { client, project, task } = await openTask(options.task, options)
  const params = { projectId: project.id, taskId: task.id }
  const { servers } = await client.listTools(params)
  const drift = servers.find((server) => server.alias === alias)?.drifted
  if (!drift)
    throw new MatrixError('APPROVAL_UNKNOWN', `Nothing is known to be different about “${printableLine(alias)}”.`, {
      hint: 'A server is looked at when an agent first calls it.',
    })
  const findings = lintDrift(drift)
  if (!options.json) printError(formatDrift(drift))
  for (const finding of findings)
    printError(`${colorsFor(process.stderr).red('warning')} ${formatDefinitionFinding(finding)}`)
  const { surface, obstacle } = drift
  if (surface === null || obstacle !== null)
    throw new MatrixError('DOCUMENT_INVALID', `Nobody can agree to this. ${obstacle ?? ''}`.trim(), {
      hint: `Keep the server away with matrix tools block ${printableLine(alias)}.`,
    })
  if (!(await isAgreed(surface, options))) return exitCode.findings

  await client.answerDrift({ ...params, alias, body: { decision: 'approve', surface } })
  if (options.json) printJson({ alias, surface, findings })
  else print(`Locked. Agents have “${printableLine(alias)}” again from their next start on.`)
  return exitCode.ok
}

/** Keeps a server from every agent of the project, until somebody takes the denial out of the settings. */
export async function blockServer(alias: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(options.task, options)
  const target = { projectId: project.id, taskId: task.id, alias }
  await client.answerDrift({ ...target, body: { decision: 'block' } })
  if (options.json) printJson({ alias, blocked: true })
  else print(`Blocked: no agent of ${printableLine(project.name)} calls it. It stands in "deny" of the settings.`)
  return exitCode.ok
}

/** A script agrees to a digest that it has seen: the server may have changed again since. */
async function isAgreed(surface: string, { digest }: { digest?: string }): Promise<boolean> {
  if (digest === surface) return true
  if (digest === undefined && isInteractive()) return confirm('Lock what was found?', {})
  throw new MatrixError('REQUEST_INVALID', 'The digest of what is agreed to is missing or another one.', {
    hint: `Read what is different above, then give --digest ${surface}.`,
  })
}

/** What the words that were found say to the model; the text is already printable, so hidden characters stand as code points. */
function lintDrift({ tools }: ServerDrift): DefinitionFinding[] {
  return tools.flatMap(({ tool, fields }) =>
    fields.flatMap(({ field, found }) => lintText(found ?? '').map((finding) => ({ ...finding, tool, field }))),
  )
}

function formatDrift({ tools, surface }: ServerDrift): string {
  const { bold, red, green, dim } = colorsFor(process.stderr)
  const lines = tools.flatMap(({ tool, change, sideEffect, fields }) => [
    `${bold(printableLine(tool))} ${change === 'added' ? `added, as "${printableLine(sideEffect)}"` : change}`,
    ...fields.flatMap(({ field, approved, found }) => [
      dim(`  ${printableLine(field)}`),
      ...marked('-', approved).map(red),
      ...marked('+', found).map(green),
    ]),
  ])
  return [...lines, dim(`digest ${surface ?? 'none'}`)].join('\n')
}

function marked(mark: string, text: string | null): string[] {
  return text === null
    ? []
    : printable(text)
        .split('\n')
        .map((line) => `  ${mark} ${line}`)
}
