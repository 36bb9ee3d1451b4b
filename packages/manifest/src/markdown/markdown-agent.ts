import type { Finding, Mode } from '../document/finding.ts'
import { type Problem, placeProblems } from '../document/finding.ts'
import { isRecord, type JsonRecord, own, ownText } from '../document/json-record.ts'
import { quoteText } from '../document/quoted-text.ts'
import type { SourceText } from '../document/source-text.ts'
import { parseFrontMatter } from './front-matter.ts'
import { readAgentTools } from './markdown-tools.ts'

/** An agent file of another program, as an agent in the Agent Format. Places are those of the Markdown file. */
export type MarkdownAgent = {
  source: SourceText
  /** A document of the Agent Format; undefined where the file is none that could be read. */
  value: JsonRecord | undefined
  findings: Finding[]
}

export type MarkdownAgentOptions = {
  /** Its stem names an agent whose file does not. */
  fileName?: string | undefined
  mode?: Mode | undefined
}

/** Fields that mean here what they mean there. */
const kept = [
  'description',
  'mcpServers',
  'resources',
  'hooks',
  'allowedTools',
  'toolAliases',
  'toolsSettings',
  'version',
]
/** Fields for the eyes, and those that Matrix decides for every agent. */
const harmless = [
  'color',
  'icon',
  'emoji',
  'author',
  'tags',
  'license',
  'keyboardShortcut',
  'welcomeMessage',
  'hidden',
  'title',
  'mode',
]
/** Where leaving the field out could leave an agent with more than its author meant. */
const narrowing = ['permissions', 'permissionMode', 'readOnly', 'sandbox', 'sandbox_mode', 'maxTurns']
const read = [
  'name',
  'model',
  'prompt',
  'tools',
  'disallowedTools',
  'excludedTools',
  'permission',
  'disable',
  'disabled',
]

/** Reads the sub agents of Claude Code, opencode, Kiro and their like: Markdown whose body is the prompt. */
export function readMarkdownAgent(
  bytes: Uint8Array,
  { fileName, mode = 'default' }: MarkdownAgentOptions = {},
): MarkdownAgent {
  const { source, fields, body, findings } = parseFrontMatter(bytes, { mode })
  if (!fields) return { source, value: undefined, findings }
  const problems: Problem[] = []
  const tools = readAgentTools(fields, problems)
  const model = modelOf(fields)
  const name = readName(ownText(fields, 'name') ?? stemOf(fileName), problems)
  if (body === '')
    problems.push({
      rule: 'MX001',
      severity: 'warning',
      path: [],
      message: 'Nothing follows the front matter, so the agent has no prompt.',
      fix: 'Write below the front matter what the agent is to do.',
    })
  if (own(fields, 'disable') === true || own(fields, 'disabled') === true)
    problems.push({
      rule: 'MX029',
      path: ['disable'],
      message: 'The file disables this agent; Matrix reads it all the same.',
      fix: 'Leave the file out, or remove the field.',
    })
  const value: JsonRecord = {
    ...Object.fromEntries(
      kept.filter((key) => Object.hasOwn(fields, key)).map((key) => [key, readField(fields, key, problems)]),
    ),
    ...(name !== undefined && { name }),
    ...(model !== undefined && { model }),
    ...(body !== '' && { prompt: body }),
    ...tools,
  }
  problems.push(...unread(fields))
  return { source: located(source, fields), value, findings: [...findings, ...placeProblems(problems, source, mode)] }
}

/** What was made out of `tools` is found there. */
function located(source: SourceText, fields: JsonRecord): SourceText {
  const derived = (field: unknown) =>
    (field === 'allowedTools' || field === 'toolsSettings') && !Object.hasOwn(fields, field)
  return { ...source, locate: (path, at) => source.locate(derived(path[0]) ? ['tools'] : path, at) }
}

/** Names become file names and URIs here; there they are often titles. */
function readName(given: string | undefined, problems: Problem[]): string | undefined {
  const name = given?.trim().replaceAll(/\s+/g, '-')
  if (name !== undefined && name !== given)
    problems.push({
      rule: 'MX026',
      severity: 'warning',
      path: ['name'],
      message: `The name is read as ${quoteText(name)}.`,
      fix: `Write ${quoteText(name)}.`,
    })
  return name
}

function stemOf(fileName: string | undefined): string | undefined {
  const stem = fileName?.replace(/\.md$/i, '').replace(/\.agent$/i, '')
  return stem === undefined || stem === '' ? undefined : stem
}

/** `inherit` is what an agent without a model does here as well. */
function modelOf(fields: JsonRecord): string | undefined {
  const model = ownText(fields, 'model')?.trim()
  return model === undefined || model === '' || model === 'inherit' ? undefined : model
}

/** Servers by name alone are those of the user's settings, which an agent has as far as the user approved them. */
function readField(fields: JsonRecord, key: string, problems: Problem[]): unknown {
  const value = own(fields, key)
  if (key !== 'mcpServers' || !Array.isArray(value)) return value
  const inline = value.filter(isRecord)
  const names = value.filter((each) => typeof each === 'string')
  if (names.length > 0)
    problems.push({
      rule: 'MX029',
      path: [key],
      severity: 'note',
      message: `${names.map(quoteText).join(', ')} must be among the servers of the settings.`,
      fix: 'Add them with matrix config set mcpServers.',
    })
  return Object.assign({}, ...inline)
}

/** What has no meaning here is said, once for each field. */
function unread(fields: JsonRecord): Problem[] {
  const known = [...kept, ...harmless, ...read]
  return Object.keys(fields)
    .filter((field) => !known.includes(field))
    .map((field) => ({
      rule: 'MX029',
      severity: narrowing.includes(field) ? 'warning' : 'note',
      path: [field],
      at: 'key',
      message: `Matrix does not read ${quoteText(field)}; it has no effect.`,
      fix: narrowing.includes(field)
        ? 'Say the same with tools and disallowedTools.'
        : 'Leave it for other programs, or remove it.',
    }))
}
