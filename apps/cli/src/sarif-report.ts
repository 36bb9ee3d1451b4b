import { createHash } from 'node:crypto'
import { isAbsolute, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Finding, type Rule, type RuleId, rules } from '@matrix/manifest/verify'
import { printable } from '@matrix/protocol'
import type { Log, ReportingDescriptor, Result } from 'sarif'
import packageJson from '../package.json' with { type: 'json' }
import type { FileReport } from './report.ts'

export type SarifOptions = {
  /** The address under which `docs/rules` can be read, where there is one. */
  pages?: string | undefined
}

/** SARIF 2.1.0, as code scanning services read it. */
export function formatSarif(reports: readonly FileReport[], { pages }: SarifOptions = {}): Log {
  const ids = Object.keys(rules) as RuleId[]
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Matrix',
            semanticVersion: packageJson.version,
            rules: ids.map((id) => describeRule(id, pages)),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: reports.flatMap((report) => report.findings.map((finding) => formatResult(report, finding, ids))),
      },
    ],
  }
}

function describeRule(id: RuleId, pages: string | undefined): ReportingDescriptor {
  const rule: Rule = rules[id]
  return {
    id,
    name: pascalCase(rule.title),
    shortDescription: { text: rule.title },
    fullDescription: { text: rule.why },
    help: { text: rule.fix, markdown: describeInMarkdown(rule) },
    ...(pages !== undefined && { helpUri: `${pages.replace(/\/+$/, '')}/${id}.md` }),
    defaultConfiguration: { level: rule.severity },
    properties: { tags: rule.locked ? ['security', rule.locked] : ['security'] },
  }
}

/** Shown beside the result by services that cannot follow a link. */
function describeInMarkdown({ why, fix, wrong, right }: Rule): string {
  const examples = `Wrong:\n\n\`\`\`\n${wrong}\n\`\`\`\n\nRight:\n\n\`\`\`\n${right}\n\`\`\``
  return `${why}\n\n${fix}\n\n${examples}`
}

function pascalCase(title: string): string {
  return title.replace(
    /[^A-Za-z]*([A-Za-z]+)[^A-Za-z]*/g,
    (_, word: string) => word.charAt(0).toUpperCase() + word.slice(1),
  )
}

function formatResult({ file, value }: FileReport, finding: Finding, ids: RuleId[]): Result {
  const { rule, severity, message, fix, line, column, endLine, endColumn } = finding
  return {
    ruleId: rule,
    ruleIndex: ids.indexOf(rule),
    level: severity,
    message: { text: printable(`${message} ${fix}`) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: fileUri(file) },
          region: { startLine: line, startColumn: column, endLine, endColumn },
        },
      },
    ],
    partialFingerprints: { 'matrixFinding/v1': fingerprint(finding, value) },
  }
}

/** Relative to where the command runs, as code scanning expects of files in the repository; absolute for any other. */
function fileUri(file: string): string {
  const path = relative(process.cwd(), file)
  if (path.startsWith('..') || isAbsolute(path)) return pathToFileURL(file).href
  return path.split(sep).map(encodeURIComponent).join('/')
}

/** Stays the same when lines move or servers and tools change places: list positions are replaced by the names that stand there. */
function fingerprint({ rule, pointer }: Finding, value: unknown): string {
  let part: unknown = value
  const names = pointer
    .split('/')
    .slice(1)
    .map((step) => {
      part =
        typeof part === 'object' && part !== null
          ? (part as Record<string, unknown>)[step.replaceAll('~1', '/').replaceAll('~0', '~')]
          : undefined
      return nameOf(part) ?? step
    })
  return createHash('sha256')
    .update([rule, ...names].join('\n'))
    .digest('hex')
    .slice(0, 32)
}

function nameOf(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined
  const { alias, name } = part as { alias?: unknown; name?: unknown }
  return typeof alias === 'string' ? alias : typeof name === 'string' ? name : undefined
}
