import type { Finding } from '@matrix/manifest/verify'
import { printableLine } from '@matrix/protocol'
import type { FileReport } from './report.ts'

const levels = { error: 'error', warning: 'warning', note: 'notice' } as const

/** One workflow command a finding. Text from a manifest is escaped, so that it cannot start a command of its own. */
export function formatGithubReport(reports: readonly FileReport[]): string {
  return reports.flatMap(({ file, findings }) => findings.map((finding) => annotation(file, finding))).join('')
}

function annotation(file: string, { rule, severity, message, fix, line, column, endLine, endColumn }: Finding): string {
  const title = escapeProperty(`Matrix ${rule}`)
  const where = `file=${escapeProperty(file)},line=${line},endLine=${endLine},col=${column},endColumn=${endColumn}`
  return `::${levels[severity]} ${where},title=${title}::${escapeData(`${message} Fix: ${fix}`)}\n`
}

function escapeData(text: string): string {
  return printableLine(text).replaceAll('%', '%25')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
