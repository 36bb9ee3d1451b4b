import type { Finding } from '@matrix/manifest/verify'
import { printableLine } from '@matrix/protocol'
import { maskCredentials } from './credential-mask.ts'
import { countSeverity, type FileReport, type LiveServer } from './report.ts'
import { colorsFor } from './terminal.ts'

type Colors = ReturnType<typeof colorsFor>

/** Findings for a person: what, where in their file, and what to do. */
export function formatTextReport(reports: readonly FileReport[], closing: string): string {
  const colors = colorsFor(process.stdout)
  const files = reports.map((report) => formatFile(report, colors))
  return `${files.join('\n')}\n${formatTotals(reports, colors)} ${colors.dim(closing)}\n`
}

function formatFile({ file, summary, text, findings, servers = [] }: FileReport, colors: Colors): string {
  const failed = findings.some(({ severity }) => severity === 'error')
  const mark = failed ? colors.red('✘') : colors.green('✔')
  const head = `${mark} ${colors.bold(printableLine(file))}  ${colors.dim(printableLine(summary))}`
  const lines = maskCredentials(text.split(/\r?\n/), findings)
  return [
    head,
    ...servers.map((server) => formatServer(server, colors)),
    ...findings.map((finding) => formatFinding(finding, file, lines, colors)),
  ].join('\n')
}

const ways = {
  sandboxed: 'sandboxed',
  unsandboxed: 'not sandboxed',
  remote: 'remote: neither its bytes nor a sandbox can be checked',
}

function formatServer({ alias, status, tools = [], table, tookMs, way }: LiveServer, colors: Colors): string {
  const mark = { verified: colors.green('✔'), refused: colors.red('✘'), unavailable: colors.yellow('?') }[status]
  const took = colors.dim(`${(tookMs / 1000).toFixed(1)} s, ${ways[way]}`)
  if (status === 'unavailable') return `  ${mark} ${alias}  could not be verified`
  const declared = tools.filter(({ state }) => state !== 'undeclared').length
  const discovered = tools.filter(({ state }) => state !== 'missing').length
  const line = `  ${mark} ${alias}  ${declared} declared, ${discovered} discovered  ${took}`
  if (table === undefined) return line
  return [line, ...table.split('\n').map((column) => `      ${printableLine(column)}`)].join('\n')
}

function formatFinding(finding: Finding, file: string, lines: readonly string[], colors: Colors): string {
  const paint = { error: colors.red, warning: colors.yellow, note: colors.cyan }[finding.severity]
  const name = finding.locked ? `${finding.rule} (${finding.locked})` : finding.rule
  const place = `${printableLine(file)}:${finding.line}:${finding.column}`
  return [
    `\n  ${paint(finding.severity)} ${colors.bold(name)}  ${printableLine(finding.message)}`,
    colors.dim(`    at ${place}`),
    ...formatFrame(finding, lines[finding.line - 1] ?? '', colors),
    `    ${colors.green('fix:')} ${printableLine(finding.fix)}\n`,
  ].join('\n')
}

const frameWidth = 100

function formatFrame(
  { line, column, endLine, endColumn, severity }: Finding,
  source: string,
  colors: Colors,
): string[] {
  if (source.trim() === '' || severity === 'note') return []
  // A minified file is one long line: show the stretch around the finding.
  const start = column > frameWidth - 20 ? column - 21 : 0
  const end = endLine === line ? Math.max(endColumn, column + 1) : source.length + 1
  const before = printableLine(source.slice(start, column - 1))
  const marked = printableLine(source.slice(column - 1, Math.min(end - 1, start + frameWidth)))
  const after = printableLine(source.slice(end - 1, start + frameWidth))
  const gutter = String(line)
  const pointer = `${' '.repeat(before.length)}${'^'.repeat(Math.max(1, marked.length))}`
  return [
    `    ${colors.dim(`${gutter} │`)} ${before}${marked}${after}`,
    `    ${colors.dim(`${' '.repeat(gutter.length)} │`)} ${colors.red(pointer)}`,
  ]
}

function formatTotals(reports: readonly FileReport[], colors: Colors): string {
  const errors = countSeverity(reports, 'error')
  const warnings = countSeverity(reports, 'warning')
  if (reports.length === 0) return 'Nothing was checked.'
  const files = `${reports.length} ${plural('file', reports.length)} checked`
  if (errors + warnings === 0) return `${colors.green(`${files}, nothing wrong.`)}`
  const paint = errors > 0 ? colors.red : colors.yellow
  return paint(`${files}: ${errors} ${plural('error', errors)}, ${warnings} ${plural('warning', warnings)}.`)
}

function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`
}
