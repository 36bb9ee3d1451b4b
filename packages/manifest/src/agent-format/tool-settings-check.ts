import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'
import { schemaProblems } from '../document/schema-problems.ts'
import type { Path } from '../document/source-text.ts'
import { findCredentials } from '../document/text-check.ts'
import { parseCommandPattern } from '../policy/command-pattern.ts'
import { isReadableHost } from '../policy/host-list.ts'
import { isReadablePath } from '../policy/path-list.ts'
import { type Policy, ToolSettings } from '../policy/policy.ts'
import { resolveSettingsKey } from './tool-reference.ts'

const settingNames = Object.keys(ToolSettings.shape)
/** `allowed_paths` and `allowedPaths` are two published spellings of one setting. */
const bySnakeCase = new Map(
  settingNames.map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]),
)

export type ToolsSettingsCheck = { toolsSettings: Policy['toolsSettings']; problems: Problem[] }

/** The settings of each tool under its normal name and in their normal spelling. */
export function checkToolsSettings(
  authored: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  servers: readonly string[],
  path: Path,
): ToolsSettingsCheck {
  const toolsSettings: Policy['toolsSettings'] = {}
  const problems: Problem[] = []
  const authors = new Map<string, string>()

  for (const [key, value] of Object.entries(authored)) {
    const where = [...path, key]
    const resolved = resolveSettingsKey(key, servers)
    problems.push(...resolved.problems.map((problem): Problem => ({ ...problem, path: where, at: 'key' })))
    const isNative = resolved.references.some((reference) => !reference.startsWith('@'))
    const checked = checkSettings(value, where, isNative)
    problems.push(...checked.problems)

    for (const reference of resolved.references) {
      const other = authors.get(reference)
      if (other !== undefined) problems.push(settledTwice(key, other, reference, where))
      authors.set(reference, key)
      toolsSettings[reference] = checked.settings
    }
  }
  return { toolsSettings, problems }
}

function checkSettings(
  authored: Readonly<Record<string, unknown>>,
  path: Path,
  isNative: boolean,
): { settings: ToolSettings; problems: Problem[] } {
  const settings = new Map<string, unknown>()
  const problems: Problem[] = findCredentials(authored, path)
  for (const [key, value] of Object.entries(authored)) {
    const name = bySnakeCase.get(key) ?? key
    const where = [...path, key]
    if (settings.has(name))
      problems.push({
        rule: 'MX001',
        path: where,
        at: 'key',
        message: `"${key}" says the same as another setting here.`,
      })
    if (isNative && !settingNames.includes(name))
      problems.push({ rule: 'MX025', path: where, at: 'key', message: `No native tool has the setting "${key}".` })
    settings.set(name, value)
    problems.push(...valueProblems(name, value, where))
  }
  return { settings: Object.fromEntries(settings), problems }
}

function valueProblems(name: string, value: unknown, path: Path): Problem[] {
  const parsed = ToolSettings.safeParse({ [name]: value })
  if (!parsed.success)
    return schemaProblems(parsed.error, { [name]: value }, () => undefined).map((problem) => ({
      ...problem,
      path: [...path, ...problem.path.slice(1)],
    }))
  const complain = entryChecks.get(name)
  if (!complain || !Array.isArray(value)) return []
  return value.flatMap((entry: string, index) => {
    const complaint = complain(entry)
    return complaint ? [unreadableEntry(name, `${quoteText(entry)} ${complaint}`, [...path, index])] : []
  })
}

const complainAboutPath = (entry: string) => (isReadablePath(entry) ? undefined : 'is not a well-formed pattern')
const complainAboutHost = (entry: string) =>
  isReadableHost(entry) ? undefined : 'is not a host, such as example.com or *.example.com'
const complainAboutCommand = (entry: string) => {
  const pattern = parseCommandPattern(entry)
  return 'reason' in pattern ? `is not a pattern for commands: ${pattern.reason}` : undefined
}

const entryChecks = new Map<string, (entry: string) => string | undefined>([
  ['allowedPaths', complainAboutPath],
  ['deniedPaths', complainAboutPath],
  ['allowedCommands', complainAboutCommand],
  ['deniedCommands', complainAboutCommand],
  ['allowedHosts', complainAboutHost],
  ['deniedHosts', complainAboutHost],
])

/** What cannot be read in a deny list shuts everything out; in an allow list it lets nothing in, and does no harm. */
function unreadableEntry(name: string, complaint: string, path: Path): Problem {
  const isDenial = name.startsWith('denied')
  return {
    rule: 'MX001',
    severity: isDenial ? 'error' : 'warning',
    path,
    message: `${complaint}. In ${name} it ${isDenial ? 'would deny everything' : 'allows nothing'}.`,
    fix: 'Correct the entry or remove it.',
  }
}

function settledTwice(key: string, other: string, reference: string, path: Path): Problem {
  return {
    rule: 'MX001',
    path,
    at: 'key',
    message: `"${key}" and "${other}" are both settings of ${reference}.`,
    fix: 'Put them together under one of the two names.',
  }
}
