import { MatrixError } from '@matrix/protocol'
import { patient } from './upstream-fetch.ts'

/** As much as one message may hold, as on a pipe. */
const MAX_MESSAGE_BYTES = 10 << 20

/**
 * Fetch whose answers cannot fill the memory, neither as one body nor as one line of an endless stream, and that has no time limit
 * beside that of its caller.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, dispatcher: patient } as RequestInit)
  if (!response.body) return response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const body = response.body.pipeThrough(isStream ? limitLines() : limitBytes())
  return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
}

function limitBytes(): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length
      if (size > MAX_MESSAGE_BYTES) controller.error(tooLarge())
      else controller.enqueue(chunk)
    },
  })
}

function limitLines(): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      const newline = chunk.lastIndexOf(10)
      size = newline === -1 ? size + chunk.length : chunk.length - newline
      if (size > MAX_MESSAGE_BYTES) controller.error(tooLarge())
      else controller.enqueue(chunk)
    },
  })
}

function tooLarge(): MatrixError {
  return new MatrixError('SERVER_UNAVAILABLE', `The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`)
}
