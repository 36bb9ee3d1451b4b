import * as z from 'zod'
import { type Problem, severityIn } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import { type FieldRule, inOtherFormat, schemaProblems } from '../document/schema-problems.ts'
import { addCredentials, findHidden } from '../document/text-check.ts'
import type { EnvironmentLookup } from '../manifest/manifest-check.ts'
import type { Policy } from '../policy/policy.ts'
import { AgentFormat, AgentServer, agentFormatSynonyms } from './agent-format.ts'
import { checkAgentName } from './agent-name.ts'
import { checkPolicy } from './agent-policy.ts'
import { checkAgentServer } from './agent-server-check.ts'
import { resolveSettingsKey } from './tool-reference.ts'

export type AgentFormatCheck = {
  /** The document as its author wrote it; `undefined` when it does not have the form. */
  agent: AgentFormat | undefined
  /** Its policy in the form that is enforced; `undefined` while anything in the document is an error. */
  policy: Policy | undefined
  problems: Problem[]
}

/** Everything about an agent in the Agent Format that can be told from the document alone. */
export function checkAgentFormat(value: unknown, isSet?: EnvironmentLookup): AgentFormatCheck {
  const parsed = AgentFormat.safeParse(value)
  const formProblems = parsed.success
    ? []
    : schemaProblems(narrowUnions(parsed.error), value, ruleOfField).map(inOtherFormat).map(explain)
  const isReadable = formProblems.every(({ rule }) => rule === 'MX025')
  // The schema changes nothing in what it accepts, so with only unknown fields to complain of, the document is the agent.
  const agent = isReadable ? (value as AgentFormat) : undefined

  const parts = agent ?? readableParts(value)
  const { policy, problems: policyProblems } = checkPolicy(parts)
  const problems = addCredentials([...formProblems, ...meaningProblems(parts, isSet), ...policyProblems], value)
  const hasError = problems.some((problem) => severityIn('default', problem) === 'error')
  return { agent, policy: hasError ? undefined : policy, problems }
}

const ruleOfField: FieldRule = ({ path }) => (path.length === 1 && path[0] === 'name' ? { rule: 'MX026' } : undefined)

/** "None of the allowed forms" helps nobody: where only one form has the right type, what it lacks is the problem. */
function narrowUnions(error: z.ZodError): z.ZodError {
  return new z.ZodError(error.issues.flatMap(narrowUnion))
}

function narrowUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const fitting = issue.errors.filter(
    (issues) => !issues.some((each) => each.code === 'invalid_type' && each.path.length === 0),
  )
  const [only] = fitting
  if (fitting.length !== 1 || !only) return [issue]
  return only.map((each) => ({ ...each, path: [...issue.path, ...each.path] }))
}

const laterFields = ['permissions', 'excludedTools', 'includePowers']
const plain = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '')

/** Says more about an unknown field where more is known. */
function explain(problem: Problem): Problem {
  const [field] = problem.path
  if (problem.rule !== 'MX025' || problem.path.length !== 1 || typeof field !== 'string') return problem
  if (laterFields.includes(field))
    return { ...problem, message: `"${field}" belongs to a later format, which is not read here: it has no effect.` }
  const meant = Object.keys(AgentFormat.shape).find((name) => plain(name) === plain(field))
  return meant ? { ...problem, fix: `Write "${meant}".` } : problem
}

/** What can be read of a document that has not quite the form, so that one mistake does not hide the others. */
function readableParts(value: unknown): Partial<AgentFormat> {
  if (typeof value !== 'object' || value === null) return {}
  const parts = Object.entries(AgentFormat.shape).flatMap(([field, schema]) => {
    const part = Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined
    if (part === undefined) return []
    if (field === 'mcpServers') return [[field, readableServers(part)] as const]
    return isReadableAs(schema, part) ? [[field, part] as const] : []
  })
  return Object.fromEntries(parts)
}

function readableServers(value: unknown): Record<string, unknown> {
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  // A server that cannot be read is still declared: what refers to it is not a second mistake.
  return Object.fromEntries(
    entries.map(([name, server]) => [name, isReadableAs(AgentServer, server) ? server : undefined]),
  )
}

function isReadableAs(schema: z.core.$ZodType, value: unknown): boolean {
  const { error } = z.safeParse(schema, value)
  return error?.issues.every(({ code }) => code === 'unrecognized_keys') ?? true
}

function meaningProblems(agent: Partial<AgentFormat>, isSet: EnvironmentLookup | undefined): Problem[] {
  const prompt = agent.prompt ? 'prompt' : 'systemPrompt'
  const servers: Record<string, AgentServer | undefined> = agent.mcpServers ?? {}
  return [
    ...(agent.name === undefined ? [] : checkAgentName(agent.name)),
    ...absenceProblems(agent),
    ...synonymProblems(agent),
    ...findHidden(agent.description, ['description']),
    ...findHidden(agent[prompt], [prompt]),
    ...Object.entries(servers).flatMap(([name, server]) => (server ? checkAgentServer(name, server, isSet) : [])),
    ...aliasProblems(agent.toolAliases ?? {}, Object.keys(servers)),
    ...otherFileProblems(agent),
  ]
}

/** Fields that the format describes and that files in use leave out. */
function absenceProblems(agent: Partial<AgentFormat>): Problem[] {
  const problems: Problem[] = []
  if (agent.version === undefined)
    problems.push({
      rule: 'MX001',
      severity: 'warning',
      path: ['version'],
      message: 'The agent has no "version".',
      fix: 'Add one, such as "version": "1.0.0".',
    })
  if (agent.tools === undefined)
    problems.push({
      rule: 'MX001',
      severity: 'warning',
      path: ['tools'],
      message: 'The agent has no "tools", so its model is shown none.',
      fix: 'List the tools it may use, such as "tools": ["fs-read", "@git"], or "tools": ["*"] for all of them.',
    })
  return problems
}

function synonymProblems(agent: Partial<AgentFormat>): Problem[] {
  return agentFormatSynonyms
    .filter((names) => names.every((name) => agent[name] !== undefined))
    .map(([one, other]) => ({
      rule: 'MX001',
      path: [other],
      at: 'key',
      message: `"${one}" and "${other}" are two names for one thing.`,
      fix: `Keep "${one}".`,
    }))
}

function aliasProblems(aliases: Record<string, string>, servers: readonly string[]): Problem[] {
  const problems = Object.entries(aliases).flatMap(([key, alias]): Problem[] => {
    const path = ['toolAliases', key]
    const wrongKeys = resolveSettingsKey(key, servers).problems.map(
      (problem): Problem => ({ ...problem, path, at: 'key' }),
    )
    return /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(alias)
      ? wrongKeys
      : [...wrongKeys, { rule: 'MX001', path, message: `${quoteText(alias)} cannot be the name of a tool.` }]
  })
  if (Object.keys(aliases).length > 0)
    problems.push({
      rule: 'MX029',
      path: ['toolAliases'],
      at: 'key',
      message: 'Tools of different servers never collide here, so that the aliases are not used.',
      fix: 'Refer to each tool as @server/tool, also in prompts.',
    })
  return problems
}

function otherFileProblems(agent: Partial<AgentFormat>): Problem[] {
  const field = agent.includeMcpJson ? 'includeMcpJson' : 'useLegacyMcpJson'
  if (!agent[field]) return []
  return [
    {
      rule: 'MX029',
      path: [field],
      at: 'key',
      message:
        'Servers from other files on the machine are not added: an agent has exactly those its own file declares.',
      fix: 'Copy the servers that it needs into mcpServers.',
    },
  ]
}
