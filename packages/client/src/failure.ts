import { type ErrorCode, errors, MatrixError } from '@matrix/protocol'
import type { FetchResponse } from './fetch.ts'

export function unreachable(baseUrl: string, cause: unknown): MatrixError {
  return new MatrixError('DAEMON_UNREACHABLE', `No daemon answers at ${baseUrl}.`, { cause })
}

/** What the daemon said went wrong, as the error that it was there. */
export async function readFailure(response: FetchResponse, baseUrl: string): Promise<MatrixError> {
  const failure = parseFailure(await response.text().catch(() => ''))
  if (!failure)
    return new MatrixError('DAEMON_UNREACHABLE', `What answers at ${baseUrl} is not a daemon of Matrix.`, {
      hint: `Look what listens there; it answered with status ${response.status}.`,
    })

  const { code, message, hint, field } = failure
  // A newer daemon may fail in ways that are not known here; what it says is still worth showing.
  const known = Object.hasOwn(errors, code) ? (code as ErrorCode) : 'INTERNAL'
  return new MatrixError(known, message, { hint, ...(typeof field === 'string' ? { field } : {}) })
}

type Failure = { code: string; message: string; hint: string; field?: unknown }

function parseFailure(text: string): Failure | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isFailure(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isFailure(value: unknown): value is Failure {
  if (typeof value !== 'object' || value === null) return false
  return ['code', 'message', 'hint'].every((name) => typeof (value as Record<string, unknown>)[name] === 'string')
}
