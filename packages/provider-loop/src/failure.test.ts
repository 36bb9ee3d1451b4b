import { expect, test } from 'vitest'
import { readFailure } from './failure.ts'

test.each([
  [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
  [400, 'invalid_request_error', 'input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000'],
  [
    400,
    'context_length_exceeded',
    "This model's maximum context length is 128000 tokens. However, you requested 130000.",
  ],
  [400, 'context_length_exceeded', 'Your input exceeds the context window of this model.'],
  [400, 'exceed_context_size_error', 'the request exceeds the available context size, try increasing it'],
  [400, 'invalid_request_error', 'The number of tokens to keep is greater than the context length'],
])('%i %s: "%s" means that the conversation is too long', (status, type, message) => {
  expect(readFailure(apiError(status, type, message))).toMatchObject({ remedy: 'final', contextExceeded: true })
})

test.each([
  [
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
  ],
  [429, 'insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'],
  [401, 'authentication_error', 'invalid x-api-key'],
  [403, 'permission_error', 'Your API key does not have permission to use the specified resource.'],
  [404, 'not_found_error', 'model: claude-none'],
])('%i %s: "%s" means that another key or model may do', (status, type, message) => {
  expect(readFailure(apiError(status, type, message))).toMatchObject({ remedy: 'elsewhere', contextExceeded: false })
})

test.each([
  [408, 'timeout', 'Request timeout'],
  [429, 'rate_limit_error', 'This request would exceed your rate limit of 50,000 input tokens per minute.'],
  [500, 'api_error', 'Internal server error'],
  [529, 'overloaded_error', 'Overloaded'],
])('%i %s: "%s" means to ask again later', (status, type, message) => {
  expect(readFailure(apiError(status, type, message))).toMatchObject({ remedy: 'retry', contextExceeded: false })
})

test('what was sent is not repeated in what is told of a failure', () => {
  const failure = readFailure(apiError(400, 'invalid_request_error', `bad\n${'x'.repeat(2000)}`))

  expect(failure.message).toHaveLength('400 '.length + 500)
  expect(failure.message).not.toContain('\n')
})

function apiError(status: number, type: string, message: string): object {
  return { status, headers: new Headers(), error: { type: 'error', error: { type, code: type, message } }, message }
}

test('a wait is read in seconds, in milliseconds and as a date, and a date that is over is no wait', () => {
  const waitOf = (headers: Record<string, string>) => readFailure({ status: 429, headers: new Headers(headers) })
  const inAMinute = new Date(Date.now() + 60_000).toUTCString()

  expect(waitOf({ 'retry-after': '7' })).toMatchObject({ remedy: 'retry', retryAfterMs: 7000 })
  expect(waitOf({ 'retry-after-ms': '1500', 'retry-after': '2' })).toMatchObject({ retryAfterMs: 1500 })
  expect(waitOf({ 'retry-after': inAMinute }).retryAfterMs).toBeGreaterThan(50_000)
  expect(waitOf({ 'retry-after': 'Mon, 01 Jan 2001 00:00:00 GMT' })).toMatchObject({ retryAfterMs: 0 })
  expect(waitOf({ 'retry-after': 'soon' })).not.toHaveProperty('retryAfterMs')
  expect(waitOf({ 'retry-after': '90000' })).toMatchObject({ remedy: 'elsewhere' })
})

test('what a connection failed on is named, also when several addresses were tried', () => {
  const refused = new Error('connect ECONNREFUSED ::1:9')
  const cause = new AggregateError([refused, new Error('connect ECONNREFUSED 127.0.0.1:9')])

  expect(readFailure(new Error('Connection error.', { cause }))).toMatchObject({
    remedy: 'retry',
    message: 'connect ECONNREFUSED ::1:9',
  })
})
