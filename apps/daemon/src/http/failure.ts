import { MatrixError } from '@matrix/protocol'
import type { FastifyError } from 'fastify'
import type * as z from 'zod'

/** The one error that leaves the daemon for whatever went wrong. What nobody foresaw tells nothing of the inside. */
export function toMatrixError(error: unknown): MatrixError {
  if (error instanceof MatrixError) return error
  const { code, statusCode = 500, message = '' } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new MatrixError('REQUEST_NOT_JSON', 'The body is not JSON.', { cause: error })
  if (statusCode === 413)
    return new MatrixError('REQUEST_TOO_LARGE', 'The request is larger than is taken.', { cause: error })
  if (statusCode >= 400 && statusCode < 500) return new MatrixError('REQUEST_INVALID', message, { cause: error })
  return new MatrixError('INTERNAL', 'Something went wrong in the daemon.', { cause: error })
}

/** Names the first thing in a request that is not as the contract says. */
export function toRequestError(part: string, { issues }: z.ZodError): MatrixError {
  const issue = issues[0]
  const field = [part, ...(issue?.path ?? [])].map(String).join('.')
  return new MatrixError('REQUEST_INVALID', `${field}: ${issue ? wordsOf(issue) : 'not as the contract says'}`, {
    field,
  })
}

function wordsOf(issue: z.core.$ZodIssue): string {
  const isEmpty = issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1
  return isEmpty ? 'must not be empty' : issue.message
}
