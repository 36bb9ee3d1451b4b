import { basename } from 'node:path'
import {
  detectDocument,
  type Finding,
  formatAgentUri,
  importServers,
  parseAgentUri,
  placeProblems,
  type ServerImport,
} from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { writeOutput } from '../output-file.ts'
import { colorsFor, printError, printJson } from '../terminal.ts'

export type ImportOptions = { out?: string; agent?: string; force?: boolean; json?: boolean }

/** A v1 draft of the servers in another program's file, and what is left to do before it can be used. */
export async function importFile(path: string, { out, agent, force = false, json }: ImportOptions): Promise<ExitCode> {
  const {
    source,
    value,
    findings: unreadable,
  } = await detectDocument(await readInput(path), {
    fileName: basename(path),
  })
  if (value === undefined) throw notReadable(path, unreadable)

  const name = agent === undefined ? {} : { agent: agentName(agent) }
  const imported = importServers(value, { ...name, fileName: basename(path) })
  const findings = placeProblems(imported.problems, source, 'default')
  const draft = `${JSON.stringify(imported.manifest, null, 2)}\n`
  if (out) await writeOutput(out, draft, { force })

  if (json)
    printJson({
      file: path,
      ...(out && { out }),
      format: imported.format,
      manifest: imported.manifest,
      environment: imported.environment,
      findings,
    })
  else present(path, out, imported, findings)
  // A server that had to be refused is a finding; what is left to do is the nature of a draft.
  return findings.some(({ severity }) => severity === 'error') ? exitCode.findings : exitCode.ok
}

function present(
  path: string,
  out: string | undefined,
  { manifest, environment }: ServerImport,
  findings: readonly Finding[],
): void {
  const { bold, dim, green, yellow, red } = colorsFor(process.stderr)
  const paint = { error: red, warning: yellow, note: dim }
  for (const { severity, rule, message, fix, line, column } of findings)
    printError(
      `${paint[severity](severity)} ${bold(rule)}  ${printableLine(path)}:${line}:${column}  ${printableLine(message)} ${dim(printableLine(fix))}`,
    )
  if (environment.length > 0)
    printError(`${bold('environment:')} set ${environment.map(printableLine).join(', ')} where Matrix runs`)
  const count = `${manifest.servers.length} ${manifest.servers.length === 1 ? 'server' : 'servers'}`
  if (out) printError(green(`${count} written to ${printableLine(out)} as a draft`))
  else printJson(manifest)
}

/** A name or a whole agent URI; anything else is refused rather than replaced. */
function agentName(agent: string): string {
  return parseAgentUri(agent.startsWith('matrix://') ? agent : formatAgentUri({ name: agent })).name
}

function notReadable(path: string, [first]: readonly Finding[]): MatrixError {
  const place = first ? `:${first.line}:${first.column} ${first.message}` : ''
  return new MatrixError('DOCUMENT_INVALID', `${path}${place}`, { hint: first?.fix ?? 'Correct the file.' })
}
