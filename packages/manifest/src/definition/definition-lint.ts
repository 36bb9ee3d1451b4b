import { findHiddenCharacters } from '@matrix/protocol'
import { findTexts, type ToolSurface } from '../lock/surface.ts'
import { type DefinitionRuleId, type DefinitionSeverity, definitionRules } from './definition-rule.ts'

/** Words of a definition that speak to the model rather than about the tool, and where they stand. */
export type DefinitionFinding = {
  rule: DefinitionRuleId
  severity: DefinitionSeverity
  tool: string
  /** The way to the text, such as `inputSchema.properties.path.description`. */
  field: string
  /** In UTF-16 code units of that text. */
  offset: number
  length: number
  words: string
  message: string
}

export type LintOptions = { /** Names of the tools of other servers of the same agent. */ others?: readonly string[] }

/** Looks at everything that a model is told about tools. It vouches for nothing: a lie without any of these passes. */
export function lintDefinitions(tools: readonly ToolSurface[], { others = [] }: LintOptions = {}): DefinitionFinding[] {
  const taken = new Map(others.map((name) => [skeletonOf(name), name]))
  return tools.flatMap((tool) => [...lintTexts(tool), ...lintName(tool.name, taken)])
}

/** The same for one text, of which only the rules for prose are asked. */
export function lintText(text: string): Omit<DefinitionFinding, 'tool' | 'field'>[] {
  const hidden = hiddenIn(text)
  const found = proseRules.flatMap((rule) => {
    const marked = firstOf(definitionRules[rule].patterns, text)
    return marked ? [findingOf(rule, marked)] : []
  })
  return hidden ? [findingOf('hidden-characters', hidden), ...found] : found
}

const ids = Object.keys(definitionRules) as DefinitionRuleId[]
const proseRules = ids.filter((id) => id !== 'context-parameter')

function lintTexts(tool: ToolSurface): DefinitionFinding[] {
  return findTexts(tool).flatMap(({ place, text }) => {
    const parameter = /^the name of (?:inputSchema\.(?:.*\.)?properties\.[^.]+)$/.test(place)
      ? firstOf(definitionRules['context-parameter'].patterns, text)
      : undefined
    const found = parameter ? [...lintText(text), findingOf('context-parameter', parameter)] : lintText(text)
    return found.map((finding) => ({ ...finding, tool: tool.name, field: place }))
  })
}

function lintName(name: string, taken: ReadonlyMap<string, string>): DefinitionFinding[] {
  const other = taken.get(skeletonOf(name))
  if (other === undefined) return []
  return [{ ...findingOf('name-imitation', { offset: 0, words: name }), tool: name, field: 'name' }]
}

type Marked = { offset: number; words: string }

function findingOf(rule: DefinitionRuleId, { offset, words }: Marked): Omit<DefinitionFinding, 'tool' | 'field'> {
  const { severity, title } = definitionRules[rule]
  return { rule, severity, offset, length: words.length, words, message: title }
}

function firstOf(patterns: readonly RegExp[], text: string): Marked | undefined {
  // A line break within a sentence does not end it.
  const line = text.replace(/[\r\n\t]/g, ' ')
  for (const pattern of patterns) {
    const match = pattern.exec(line)
    if (match) return { offset: match.index, words: text.slice(match.index, match.index + match[0].length) }
  }
  return undefined
}

function hiddenIn(text: string): Marked | undefined {
  const plain = text.replaceAll('\r\n', ' \n')
  const [name] = findHiddenCharacters(plain)
  if (name === undefined) return undefined
  const character = String.fromCodePoint(Number.parseInt(name.slice(2), 16))
  return { offset: plain.indexOf(character), words: character }
}

/** Names that look alike to a reader have one skeleton: case, separators, and digits that stand for letters do not count. */
function skeletonOf(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('0', 'o')
    .replace(/[1i]/g, 'l')
}
