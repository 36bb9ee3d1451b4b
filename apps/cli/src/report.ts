import type { Finding, Severity } from '@matrix/manifest'

/** What was found in one file. */
export type FileReport = {
  file: string
  /** What the file is, in words, such as "Matrix manifest, 3 servers, 21 tools". */
  summary: string
  format: string | undefined
  text: string
  value: unknown
  findings: Finding[]
}

export function countSeverity(reports: readonly FileReport[], severity: Severity): number {
  return reports.reduce(
    (sum, { findings }) => sum + findings.filter((finding) => finding.severity === severity).length,
    0,
  )
}
