import { builtinTools } from '@matrix/protocol'
import type { Problem } from '../document/finding.ts'
import { isRecord, type JsonRecord, own } from '../document/json-record.ts'
import type { ToolSettings } from '../policy/policy.ts'
import { listFix, readToolList, splitToolList, type ToolGrants, type ToolLimits } from './tool-grant.ts'

/** What an agent may use, as the Agent Format says it. What its file grants runs without asking: the sandbox holds it. */
export type AgentTools = { tools: string[]; allowedTools: string[]; toolsSettings?: Record<string, ToolSettings> }

/** Reads `tools`, `disallowedTools`, `excludedTools` and `permission` in all the forms that programs write them. */
export function readAgentTools(fields: JsonRecord, problems: Problem[]): AgentTools {
  const listed = own(fields, 'tools')
  const read = (entries: readonly string[], field: string) => readEntries(entries, field, problems)
  const wanted = isRecord(listed) ? switchedOn(listed) : entriesOf(listed, 'tools', [], problems)
  const grants = wanted ? read(wanted, 'tools') : everything
  const rules = openRules(grants, Object.keys(serversOf(fields)))
  if (isRecord(listed)) rules.deny(read(switchedOff(listed), 'tools'))
  for (const field of ['disallowedTools', 'excludedTools']) {
    const entries = entriesOf(own(fields, field), field, ['*'], problems)
    if (entries) rules.deny(read(entries, field))
  }
  readPermission(own(fields, 'permission'), rules, read)
  const own_ = own(fields, 'toolsSettings')
  const { toolsSettings, ...lists } = rules.result()
  const settings = { ...toolsSettings, ...(isRecord(own_) && own_) } as Record<string, ToolSettings>
  return { ...lists, ...(Object.keys(settings).length > 0 && { toolsSettings: settings }) }
}

/** Those with which agents work on tasks stand in no list: every agent has them. */
const ownTools = Object.values(builtinTools).map((name) => name.slice('mcp__mxd__'.length))

const everything: ToolGrants = new Map([['*', {}]])

function serversOf(fields: JsonRecord): JsonRecord {
  const servers = own(fields, 'mcpServers')
  return isRecord(servers) ? servers : Array.isArray(servers) ? Object.assign({}, ...servers.filter(isRecord)) : {}
}

/** `inDoubt` are the entries of a line that cannot be read: what is in doubt never widens. */
function entriesOf(value: unknown, field: string, inDoubt: string[], problems: Problem[]): string[] | undefined {
  if (typeof value === 'string') {
    const { entries, problem } = splitToolList(value)
    if (problem === undefined) return entries
    problems.push({ rule: 'MX001', path: [field], message: problem, fix: listFix })
    return inDoubt
  }
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined
}

/** Where tools are switches, those are on that are not off, unless `*` is off. */
function switchedOn(switches: JsonRecord): string[] | undefined {
  return switches['*'] === false ? Object.keys(switches).filter((name) => switches[name] === true) : undefined
}

function switchedOff(switches: JsonRecord): string[] {
  return Object.keys(switches).filter((name) => name !== '*' && switches[name] === false)
}

function readEntries(entries: readonly string[], field: string, problems: Problem[]): ToolGrants {
  const { grants, notes } = readToolList(entries)
  for (const { index, message } of notes)
    problems.push({
      rule: 'MX027',
      severity: 'note',
      path: [field, index],
      message,
      fix: 'docs/skills.md lists the names that Matrix reads.',
    })
  return grants
}

type Rules = ReturnType<typeof openRules>

/** The rules of one agent while its fields are read: each field can only take away. */
function openRules(grants: ToolGrants, servers: readonly string[]) {
  const isEverything = grants.has('*')
  const start = isEverything ? [...ownTools, ...servers.map((each) => `@${each}`)] : [...grants.keys()]
  const shown = new Set(start)
  const asked = new Set<string>()
  const settings = new Map<string, ToolSettings>()
  let isNarrowed = !isEverything

  const add = (tool: string, more: ToolSettings) => {
    const before = settings.get(tool) ?? {}
    const lists = Object.entries(more).map(([key, value]) => [
      key,
      Array.isArray(value) ? [...((before[key] as unknown[]) ?? []), ...value] : value,
    ])
    settings.set(tool, { ...before, ...Object.fromEntries(lists) })
  }
  const allowOnly = (tool: string, { commands, paths }: ToolLimits, denyByDefault: boolean) => {
    if (commands ?? paths)
      add(tool, {
        ...(commands && { allowedCommands: commands }),
        ...(paths && { allowedPaths: paths }),
        ...(denyByDefault && { denyByDefault }),
      })
  }
  for (const [tool, limits] of grants) allowOnly(tool, limits, true)

  return {
    allowOnly: (given: ToolGrants, denyByDefault: boolean) => {
      for (const [tool, limits] of given) allowOnly(tool, limits, denyByDefault)
    },
    deny(given: ToolGrants) {
      for (const [tool, { commands, paths }] of given) {
        isNarrowed = true
        if (commands ?? paths)
          add(tool, { ...(commands && { deniedCommands: commands }), ...(paths && { deniedPaths: paths }) })
        else for (const each of tool === '*' ? [...shown] : [tool]) shown.delete(each)
      }
    },
    ask(given: ToolGrants) {
      for (const tool of given.keys()) for (const each of tool === '*' ? shown : [tool]) asked.add(each)
    },
    result(): AgentTools {
      const tools = [...shown]
      const isWhole = !isNarrowed && servers.length === 0
      const allowed = isWhole && asked.size === 0 ? ['@builtin'] : tools.filter((tool) => !asked.has(tool))
      return { tools: isWhole ? ['*'] : tools, allowedTools: allowed, toolsSettings: Object.fromEntries(settings) }
    },
  }
}

/** opencode's `permission`: allow, ask or deny for each tool, or for each pattern of what it is called with. */
function readPermission(
  value: unknown,
  rules: Rules,
  read: (entries: readonly string[], field: string) => ToolGrants,
): void {
  for (const [tool, rule] of isRecord(value) ? Object.entries(value) : []) {
    const words = isRecord(rule) ? Object.entries(rule) : [['*', rule] as const]
    const patterns = (word: string) =>
      words.filter(([pattern, each]) => each === word && pattern !== '*').map(([pattern]) => `${tool}(${pattern})`)
    const [allowed, denied, asks] = [patterns('allow'), patterns('deny'), patterns('ask')]
    const other = words.find(([pattern]) => pattern === '*')?.[1] ?? (asks.length > 0 ? 'ask' : 'allow')
    if (denied.length > 0) rules.deny(read(denied, 'permission'))
    if (other !== 'allow' && allowed.length > 0) rules.allowOnly(read(allowed, 'permission'), other === 'deny')
    else if (other === 'deny') rules.deny(read([tool], 'permission'))
    // A word that Matrix does not know is the user's to answer.
    else if (other !== 'allow' || asks.length > 0) rules.ask(read([tool], 'permission'))
  }
}
