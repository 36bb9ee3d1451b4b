import type { DetectedDocument, DetectOptions } from '../detect.ts'
import { readAgentSkill } from '../skill/agent-skill.ts'
import { readMarkdownAgent } from './markdown-agent.ts'

/** A Markdown file as what it is: a skill by its name, which the specification fixes, and else an agent. */
export function readMarkdown(bytes: Uint8Array, { fileName, mode }: DetectOptions): DetectedDocument {
  if (fileName?.toLowerCase() === 'skill.md') {
    const { source, skill, findings } = readAgentSkill(bytes, { mode })
    const { allowedTools, ...value } = skill ?? {}
    const tools = allowedTools && { allowedTools: Object.fromEntries(allowedTools) }
    return {
      source,
      value: skill && { ...value, ...tools },
      findings,
      format: skill && 'agent-skill',
      syntax: 'Markdown',
    }
  }
  const { source, value, findings } = readMarkdownAgent(bytes, { fileName, mode })
  return { source, value, findings, format: value && 'agent-format', syntax: 'Markdown' }
}
