import { MatrixError, printableLine } from '@matrix/protocol'
import { type ExitCode, exitCode, exitCodeOf } from './exit-code.ts'
import { InterruptedError } from './interrupt.ts'
import { colorsFor, printError, printJson } from './terminal.ts'
import { wrapText } from './text-width.ts'

/** Tells a person, or a program, what went wrong and what to do; a stack trace only when asked for. */
export function explainFailure(error: unknown, { json }: { json: boolean }): ExitCode {
  if (error instanceof InterruptedError) return exitCode.interrupted
  const known = error instanceof MatrixError ? error : undefined
  // The daemon says in which part of the request a field is, which is nothing to whoever typed a command.
  const message = (error instanceof Error ? error.message : String(error)).replace(/^(?:body|query|params)\./, '')
  const hint = known?.hint ?? 'This is a fault in Matrix. Set MATRIX_DEBUG=1 to see where, and report it.'

  if (json) printJson({ error: { code: known?.code ?? 'INTERNAL', message, hint } })
  const { red, dim } = colorsFor(process.stderr)
  const width = process.stderr.isTTY ? Math.max(40, process.stderr.columns || 80) - 2 : Number.MAX_SAFE_INTEGER
  const [first = '', ...rest] = wrapText(`error: ${printableLine(message)}`, width)
  printError([first.replace('error:', red('error:')), ...rest].join('\n  '))
  printError(dim(`  ${wrapText(printableLine(hint), width).join('\n  ')}`))
  if (process.env.MATRIX_DEBUG && error instanceof Error) printError(error.stack ?? '')
  return known ? exitCodeOf(known) : exitCode.usage
}
