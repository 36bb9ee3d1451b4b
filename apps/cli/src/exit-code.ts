import type { MatrixError } from '@matrix/protocol'

/** What the shell is told. Scripts and CI rely on these. */
export const exitCode = {
  ok: 0,
  findings: 1,
  usage: 2,
  toolError: 3,
  unverified: 4,
  budget: 5,
  timedOut: 124,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

const byError: Partial<Record<MatrixError['code'], ExitCode>> = {
  PACKAGE_UNAVAILABLE: exitCode.unverified,
  PACKAGE_UNVERIFIABLE: exitCode.unverified,
  DEPENDENCY_REFUSED: exitCode.unverified,
  CREDENTIAL_MISSING: exitCode.unverified,
  CREDENTIAL_UNUSABLE: exitCode.unverified,
  SERVER_UNAVAILABLE: exitCode.unverified,
  SANDBOX_UNAVAILABLE: exitCode.unverified,
  DAEMON_UNREACHABLE: exitCode.unverified,
  NOT_READY: exitCode.unverified,
  PACKAGE_MISMATCH: exitCode.findings,
  TOOL_DRIFT: exitCode.findings,
  AUTHORIZATION_DENIED: exitCode.findings,
  TOOL_FAILED: exitCode.toolError,
  TOOL_TIMEOUT: exitCode.toolError,
  TOOL_CANCELLED: exitCode.toolError,
  DOCUMENT_INVALID: exitCode.findings,
  BUDGET_EXCEEDED: exitCode.budget,
  PLAYBOOK_INVALID: exitCode.findings,
  PROVIDER_MISSING: exitCode.findings,
  STORAGE_FULL: exitCode.findings,
  STORAGE_FAILED: exitCode.findings,
}

export function exitCodeOf(error: MatrixError): ExitCode {
  return byError[error.code] ?? exitCode.usage
}
