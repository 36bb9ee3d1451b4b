import { MatrixError, printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode, exitCodeOf } from './exit-code.ts'
import { colorsFor, printError, printJson } from './terminal.ts'

/** Tells a person, or a program, what went wrong and what to do; a stack trace only when asked for. */
export function explainFailure(error: unknown, { json }: { json: boolean }): ExitCode {
  const known = error instanceof MatrixError ? error : undefined
  const message = error instanceof Error ? error.message : String(error)
  const hint = known?.hint ?? 'This is a fault in Matrix. Set MATRIX_DEBUG=1 to see where, and report it.'

  if (json) printJson({ error: { code: known?.code ?? 'INTERNAL', message, hint } })
  const { red, dim } = colorsFor(process.stderr)
  printError(`${red('error:')} ${printableLine(message)}\n${dim(`  ${printableLine(hint)}`)}`)
  if (process.env.MATRIX_DEBUG && error instanceof Error) printError(error.stack ?? '')
  return known ? exitCodeOf(known) : exitCode.usage
}
