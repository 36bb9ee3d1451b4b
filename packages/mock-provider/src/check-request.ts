import { anthropic } from './anthropic.ts'
import type { ApiRequest, DialectName } from './api-request.ts'
import type { Dialect } from './dialect.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { checkPrefix } from './prefix.ts'

export const dialects: Record<DialectName, Dialect> = {
  anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
}

/**
 * Checks a request as the mock does, without a server: throws `Violation` for what the API would refuse, and for
 * what is not an extension of the request before.
 */
export function checkRequest(dialect: DialectName, body: Record<string, unknown>, before?: ApiRequest): ApiRequest {
  const request = dialects[dialect].read(body)
  if (before) checkPrefix(before, request)
  return request
}
