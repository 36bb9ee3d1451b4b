import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import type { Policy } from '../policy/policy.ts'
import type { AgentFormat } from './agent-format.ts'
import { checkHooks } from './hook-check.ts'
import { type ResolvedReference, resolveAllowed, resolveVisible } from './tool-reference.ts'
import { checkToolsSettings } from './tool-settings-check.ts'

export type PolicyCheck = { policy: Policy; problems: Problem[] }

/** What an agent file says about what may be seen, done unasked and refused, in the one spelling that is enforced. */
export function checkPolicy(agent: Partial<AgentFormat>): PolicyCheck {
  const servers = Object.keys(agent.mcpServers ?? {})
  const tools = checkTools(agent.tools ?? [], servers)
  const allowed = checkReferences(agent.allowedTools ?? [], 'allowedTools', (text) => resolveAllowed(text, servers))
  const settingsField = agent.toolsSettings ? 'toolsSettings' : 'toolSettings'
  const settings = checkToolsSettings(agent[settingsField] ?? {}, servers, [settingsField])
  const resources = checkResources(agent.resources ?? [])
  const hooks = checkHooks(agent.hooks ?? {}, servers)
  const prompt = agent.prompt ?? agent.systemPrompt

  return {
    policy: {
      tools: tools.references,
      allowedTools: allowed.references,
      toolsSettings: settings.toolsSettings,
      resources: resources.resources,
      hooks: hooks.hooks,
      ...(prompt && { prompt }),
      ...(agent.model && { model: agent.model }),
    },
    problems: [tools, allowed, settings, resources, hooks].flatMap((part) => part.problems),
  }
}

function checkTools(
  tools: readonly string[],
  servers: readonly string[],
): { references: string[]; problems: Problem[] } {
  if (tools.length === 1 && tools[0] === '*') return { references: ['*'], problems: [] }
  return checkReferences(tools, 'tools', (text) => {
    if (text !== '*') return resolveVisible(text, servers)
    // It is dropped, and not only ignored: it must not come to stand alone when its neighbours go.
    const message = '"*" means everything only when it stands alone; beside other entries it shows nothing.'
    return { references: [], problems: [{ rule: 'MX027', message, fix: 'Remove it, or everything else.' }] }
  })
}

function checkReferences(
  entries: readonly string[],
  field: string,
  resolve: (text: string) => ResolvedReference,
): { references: string[]; problems: Problem[] } {
  const resolved = entries.map(resolve)
  return {
    references: [...new Set(resolved.flatMap(({ references }) => references))],
    problems: resolved.flatMap(({ problems }, index) =>
      problems.map((problem): Problem => ({ ...problem, path: [field, index] })),
    ),
  }
}

function checkResources(entries: NonNullable<AgentFormat['resources']>): { resources: string[]; problems: Problem[] } {
  const resources: string[] = []
  const problems = entries.flatMap((entry, index): Problem[] => {
    const path = ['resources', index]
    if (typeof entry !== 'string' || entry.startsWith('skill://'))
      return [
        {
          rule: 'MX029',
          path,
          message: `Only file:// resources are read here; this ${typeof entry === 'string' ? 'skill' : 'object'} is left out.`,
          fix: 'Name the files that the agent needs as file:// resources.',
        },
      ]
    if (!/^file:\/\/./.test(entry))
      return [{ rule: 'MX001', path, message: `${quoteText(entry)} must start with file:// and name a file.` }]
    resources.push(entry)
    return []
  })
  return { resources, problems }
}
