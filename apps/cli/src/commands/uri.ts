import { parseAgentUri, parseToolUri } from '@matrix/manifest'
import { printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { print, printJson } from '../terminal.ts'

/** The parts of a URI, or the error that says which part is wrong. */
export function uri(text: string, { json }: { json?: boolean }): ExitCode {
  const parts = text.startsWith('matrix://agent/') ? { kind: 'agent', ...parseAgentUri(text) } : toolParts(text)
  if (json) printJson({ uri: text, ...parts })
  else
    print(
      Object.entries(parts)
        .map(([name, value]) => `${name.padEnd(9)} ${printableLine(String(value))}`)
        .join('\n'),
    )
  return exitCode.ok
}

function toolParts(text: string): Record<string, string> {
  const { server, tool, pin } = parseToolUri(text)
  return { kind: 'tool', server, tool, pin, pinnedBy: pin.startsWith('sha256:') ? 'digest' : 'version' }
}
