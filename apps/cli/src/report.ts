import type { Bijection } from '@matrix/manifest'
import type { Finding, Severity } from '@matrix/manifest/verify'

/** What was found in one file. */
export type FileReport = {
  file: string
  /** What the file is, in words, such as "Matrix manifest, 3 servers, 21 tools". */
  summary: string
  format: string | undefined
  text: string
  value: unknown
  findings: Finding[]
  /** What became of each server, where they were started. */
  servers?: LiveServer[]
}

/** One server as it was found, or why it could not be looked at. */
export type LiveServer = {
  alias: string
  status: 'verified' | 'refused' | 'unavailable'
  /** A remote server runs elsewhere: neither a sandbox nor its bytes say anything about it. */
  way: 'sandboxed' | 'unsandboxed' | 'remote'
  /** Whether what was started was held against a digest of its manifest. */
  hasVerifiedBytes: boolean
  tookMs: number
  tools?: Bijection['rows']
  /** The same for a person, declared and discovered beside each other, where they differ. */
  table?: string
  error?: { code: string; message: string }
}

/** Whether everything in a file that only running can prove was proved. */
export function isProved({ servers }: FileReport): boolean {
  return servers?.every(({ status }) => status === 'verified') ?? false
}

export function countSeverity(reports: readonly FileReport[], severity: Severity): number {
  return reports.reduce(
    (sum, { findings }) => sum + findings.filter((finding) => finding.severity === severity).length,
    0,
  )
}
