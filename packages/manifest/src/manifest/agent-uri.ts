import { MatrixError } from '@matrix/protocol'

/** The name of an agent; it identifies, and never authorises. */
export type AgentUri = { name: string }

export const AGENT_URI_SHAPE = /^matrix:\/\/agent\/([A-Za-z0-9][A-Za-z0-9._:-]{0,127})$/

export function parseAgentUri(text: string): AgentUri {
  const name = AGENT_URI_SHAPE.exec(text)?.[1]
  if (!name)
    throw new MatrixError('URI_MALFORMED', `Not an agent URI: ${text}`, {
      hint: 'Write matrix://agent/<name> with up to 128 letters, digits, ".", "_", ":" and "-".',
    })
  return { name }
}

export function formatAgentUri({ name }: AgentUri): string {
  return `matrix://agent/${name}`
}

export function isAgentUri(text: string): boolean {
  return AGENT_URI_SHAPE.test(text)
}
