import type { Lock, Policy } from '@matrix/manifest'
import { printableLine, removeInvisible } from '@matrix/protocol'
import { formatFiles } from './prompt.ts'
import type { Resource } from './resources.ts'

export type AgentContextFacts = {
  resources: readonly Resource[]
  /** What the hooks at the start have written. */
  spoken: readonly string[]
  unavailable: Lock['unavailable']
}

/** What the file of an agent adds to the start of its conversation. */
export function formatAgentContext({ resources, spoken, unavailable = {} }: AgentContextFacts): string {
  const missing = Object.entries(unavailable).map(([alias, { reason }]) => `- ${alias}: ${printableLine(reason)}`)
  return [
    resources.length > 0 ? `# Resources\n${formatFiles(resources)}` : '',
    formatHookOutput(spoken, 'said when you started'),
    missing.length > 0 ? `# Servers that are not available\n${missing.join('\n')}` : '',
  ]
    .filter((section) => section !== '')
    .join('\n\n')
}

/** What a hook has written is text about the project, and no word of the user. */
export function formatHookOutput(spoken: readonly string[], when: string): string {
  const texts = spoken.map((text) => removeInvisible(text.trim()).text).filter((text) => text !== '')
  if (texts.length === 0) return ''
  const parts = texts.map((text) => `<hook>\n${text.replaceAll(/<(\/?hook\b)/gi, '‹$1')}\n</hook>`)
  return `[Hooks of your agent file ${when}]\n${parts.join('\n')}`
}

/** The part of the system prompt that the agent's own file brings. */
export function agentPrompt(policy: Policy | undefined): string | undefined {
  return policy?.prompt?.trim() || undefined
}
