import { type Finding, type Mode, type Problem, placeProblems } from '../document/finding.ts'
import { isRecord, type JsonRecord, own, ownText, scalarText } from '../document/json-record.ts'
import { quoteText } from '../document/quoted-text.ts'
import type { SourceText } from '../document/source-text.ts'
import { findHidden } from '../document/text-check.ts'
import { parseFrontMatter } from '../markdown/front-matter.ts'
import { listFix, readToolList, splitToolList, type ToolGrants } from '../markdown/tool-grant.ts'

/** What a `SKILL.md` says, by the Agent Skills specification. */
export type AgentSkill = {
  name: string
  /** What a model is told before it uses the skill. */
  description: string
  license?: string
  compatibility?: string
  metadata: Record<string, string>
  /** Undefined where the file does not limit tools. */
  allowedTools: ToolGrants | undefined
  body: string
}

export type AgentSkillReading = { source: SourceText; skill: AgentSkill | undefined; findings: Finding[] }

export type AgentSkillOptions = {
  /** The folder that the file lies in, whose name the specification wants the skill to have. */
  folderName?: string | undefined
  mode?: Mode | undefined
}

const MAX_DESCRIPTION = 1024
const MAX_COMPATIBILITY = 500

/** A name becomes a folder and the argument of a tool. */
export const skillName = /^[a-z0-9](?:-?[a-z0-9]){0,63}$/

/** Bytes to a skill, with a finding instead of an exception for everything that can be wrong with them. */
export function readAgentSkill(
  bytes: Uint8Array,
  { folderName, mode = 'default' }: AgentSkillOptions = {},
): AgentSkillReading {
  const { source, fields, body, findings } = parseFrontMatter(bytes, { mode })
  if (!fields) return { source, skill: undefined, findings }
  const problems: Problem[] = []
  const name = readName(fields, folderName, problems)
  const description = readDescription(fields, problems)
  const allowedTools = readAllowedTools(fields, problems)
  const compatibility = ownText(fields, 'compatibility')
  if (compatibility !== undefined && compatibility.length > MAX_COMPATIBILITY)
    problems.push(tooLong('compatibility', compatibility.length, MAX_COMPATIBILITY))
  const license = ownText(fields, 'license')
  const placed = [...findings, ...placeProblems(problems, source, mode)]
  if (name === undefined || description === undefined) return { source, skill: undefined, findings: placed }
  const skill: AgentSkill = {
    name,
    description,
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    metadata: readMetadata(own(fields, 'metadata')),
    allowedTools,
    body,
  }
  return { source, skill, findings: placed }
}

function readName(fields: JsonRecord, folderName: string | undefined, problems: Problem[]): string | undefined {
  const given = scalarText(own(fields, 'name'))
  const name = given ?? folderName
  const fix = 'Use up to 64 lower-case letters, digits and single "-", as the folder is called.'
  if (name === undefined || !skillName.test(name) || name.length > 64) {
    const message = name === undefined ? 'The skill has no name.' : `${quoteText(name)} cannot be the name of a skill.`
    problems.push({ rule: 'MX026', path: given === undefined ? [] : ['name'], message, fix })
    return undefined
  }
  if (folderName !== undefined && name !== folderName)
    problems.push({
      rule: 'MX026',
      severity: 'warning',
      path: ['name'],
      message: `The skill is called ${quoteText(name)}, and its folder ${quoteText(folderName)}.`,
      fix: 'Give both the same name.',
    })
  return name
}

function readDescription(fields: JsonRecord, problems: Problem[]): string | undefined {
  const description = ownText(fields, 'description')?.trim()
  if (!description) {
    const fix = 'Write what the skill does and when to use it: a model is told nothing else before it uses one.'
    problems.push({ rule: 'MX001', path: ['description'], message: 'The skill has no description.', fix })
    return undefined
  }
  problems.push(...findHidden(description, ['description']))
  if (description.length > MAX_DESCRIPTION) problems.push(tooLong('description', description.length, MAX_DESCRIPTION))
  return description
}

function tooLong(field: string, length: number, most: number): Problem {
  const message = `"${field}" has ${length} characters; the specification allows ${most}.`
  return { rule: 'MX001', severity: 'warning', path: [field], message, fix: 'Move details below the front matter.' }
}

/** A list that cannot be read allows nothing: what is in doubt never widens. */
function readAllowedTools(fields: JsonRecord, problems: Problem[]): ToolGrants | undefined {
  const path = ['allowed-tools']
  const given = own(fields, 'allowed-tools') ?? own(fields, 'allowedTools')
  if (given === undefined || given === null) return undefined
  const isList = Array.isArray(given) && given.every((each) => typeof each === 'string')
  if (typeof given !== 'string' && !isList) {
    problems.push({ rule: 'MX001', path, message: '"allowed-tools" must be a line or a list of tool names.' })
    return new Map()
  }
  const { entries, problem } = typeof given === 'string' ? splitToolList(given) : { entries: given as string[] }
  if (problem !== undefined) problems.push({ rule: 'MX001', path, message: problem, fix: listFix })
  const { grants, notes } = readToolList(entries)
  for (const { index, message } of notes)
    problems.push({ rule: 'MX027', severity: 'note', path: [...path, index], message })
  return grants
}

function readMetadata(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : []
  const texts = entries.map(([key, each]) => [key, scalarText(each)] as const)
  return Object.fromEntries(texts.filter((pair): pair is [string, string] => pair[1] !== undefined))
}
