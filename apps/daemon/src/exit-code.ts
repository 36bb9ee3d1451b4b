import type { ErrorCode } from '@matrix/protocol'

/** What the shell is told when the daemon cannot start, so that a script can tell the reasons apart. */
export const exitCode = {
  ok: 0,
  fault: 1,
  usage: 2,
  portInUse: 3,
  directoryInUse: 4,
  gitMissing: 5,
  storage: 6,
} as const

const byError: Partial<Record<ErrorCode, number>> = {
  CONFIG_INVALID: exitCode.usage,
  DOCUMENT_UNREADABLE: exitCode.usage,
  PORT_IN_USE: exitCode.portInUse,
  STORAGE_LOCKED: exitCode.directoryInUse,
  GIT_MISSING: exitCode.gitMissing,
  STORAGE_FULL: exitCode.storage,
  STORAGE_FAILED: exitCode.storage,
  STORAGE_NETWORK: exitCode.storage,
  STORAGE_UNSAFE: exitCode.storage,
}

export function exitCodeOf(code: ErrorCode): number {
  return byError[code] ?? exitCode.fault
}
