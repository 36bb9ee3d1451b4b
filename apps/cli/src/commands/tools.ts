import { formatToolUri } from '@matrix/manifest'
import { printableLine } from '@matrix/protocol'
import { buildRegistry, checkGate, noTarget, type ResolvedTool, type Verdict } from '@matrix/tool-manager'
import { type AgentFile, readAgentFile } from '../agent-file.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { colorsFor, print, printJson } from '../terminal.ts'

/** Every tool of an agent by all its names, and what the gate would say to a call. Starts nothing. */
export async function tools(path: string, { json }: { json?: boolean }): Promise<ExitCode> {
  const agent = await readAgentFile(path)
  const rows = buildRegistry(agent.manifest).tools.map((tool) => ({ tool, verdict: decide(agent, tool) }))
  if (json) printJson(rows.map(({ tool, verdict }) => describe(tool, verdict)))
  else print(format(rows))
  return exitCode.ok
}

function decide({ manifest, policy }: AgentFile, tool: ResolvedTool): Verdict {
  const base = { cwd: process.cwd(), home: process.env.HOME ?? '/' }
  return checkGate({ tool, target: noTarget }, { grant: { manifest, policy }, base })
}

function describe({ uri, wireName, tool }: ResolvedTool, { verdict }: Verdict): object {
  const { side_effect_class, description } = tool
  return { uri: formatToolUri(uri), wire_name: wireName, side_effect_class, description, verdict }
}

function format(rows: { tool: ResolvedTool; verdict: Verdict }[]): string {
  const { green, yellow, red, dim } = colorsFor(process.stdout)
  const paint = { allow: green, ask: yellow, deny: red }
  const width = Math.max(0, ...rows.map(({ tool }) => formatToolUri(tool.uri).length))
  return rows
    .map(({ tool: { uri, tool }, verdict: { verdict } }) =>
      [
        paint[verdict](verdict.padEnd(5)),
        tool.side_effect_class.padEnd(7),
        formatToolUri(uri).padEnd(width),
        dim(printableLine(tool.description ?? '').slice(0, 80)),
      ].join('  '),
    )
    .join('\n')
}
