import {
  type Bijection,
  checkBijection,
  formatBijection,
  type LockedServer,
  type Problem,
  rules,
  type Server,
  type ToolSurface,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'

/** What a check of one server's list came to; `drift` holds what it must not run with. */
export type Verification = Bijection & { drift: Problem[] }

/** Holds what a server advertises against what its manifest declares and, with a lock, against every definition in it. */
export function checkServer(
  server: Server,
  discovered: readonly ToolSurface[],
  locked?: LockedServer | undefined,
): Verification {
  const bijection = checkBijection(server, discovered, { locked: locked?.tools })
  const drift = bijection.problems.filter(({ rule, severity = rules[rule].severity }) => severity === 'error')
  return { ...bijection, drift }
}

const MAX_LINES = 40

/** Says what is different, one line each, with the two lists beside each other where they are not the same. */
export function driftError(alias: string, { drift, rows }: Verification): MatrixError {
  const words = drift.slice(0, MAX_LINES).map(({ message }) => `  ${message}`)
  const more = drift.length > MAX_LINES ? [`  … and ${drift.length - MAX_LINES} more`] : []
  const differing = rows.filter(({ state }) => state !== 'same').slice(0, MAX_LINES)
  const columns = differing.length > 0 ? ['', formatBijection({ problems: [], rows: differing })] : []
  const title = `The tools of "${alias}" are not the ones that were agreed to:`
  return new MatrixError('TOOL_DRIFT', [title, ...words, ...more, ...columns].join('\n'))
}
