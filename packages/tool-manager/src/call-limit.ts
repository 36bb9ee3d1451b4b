import { DEFAULT_TIMEOUT_MS, isOwnServer } from '@matrix/manifest'
import { MAX_TIMEOUT_MS } from './builtin/shell-tools.ts'
import type { ResolvedTool } from './registry.ts'

/** How long a call may take: without a sign of life, and in all. */
export type CallLimit = { silentMs: number; totalMs: number }

/** Matrix's own tools end what they do by their own limit; this one only catches a server that hangs. */
const BUILTIN_LIMIT_MS = MAX_TIMEOUT_MS + 30_000
/** A server that reports progress for ever is not believed for ever. */
const PATIENCE = 6

/** What the manifest says, else the tool's own limit, else the user's setting, else ten minutes without progress. */
export function limitOf({ server, tool }: ResolvedTool, toolTimeoutMs = DEFAULT_TIMEOUT_MS): CallLimit {
  if (tool.timeout_ms) return totalLimit(tool.timeout_ms)
  if (isOwnServer(server)) return totalLimit(BUILTIN_LIMIT_MS)
  return { silentMs: toolTimeoutMs, totalMs: PATIENCE * toolTimeoutMs }
}

export function totalLimit(totalMs: number): CallLimit {
  return { silentMs: totalMs, totalMs }
}
