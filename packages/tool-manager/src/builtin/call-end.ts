import * as z from 'zod'

/** How a call is named beside its arguments, so that it can be ended while it runs. */
export const CALL_META = 'matrix/call'

/**
 * Asks Matrix's own server to end a call and to answer with what it has by then. A call that is cancelled as MCP has it gets no answer,
 * and what it printed would be lost.
 */
export const END_CALL = 'notifications/matrix/end_call'

export const EndCall = z.object({ call: z.string() })

export type CallEndings = {
  /** A signal that fires when the call is to end; and what to call when it is over. */
  open(call: unknown, cancelled: AbortSignal): { signal: AbortSignal; close(): void }
  end(call: string): void
}

export function openCallEndings(): CallEndings {
  const running = new Map<string, AbortController>()
  return {
    open(call, cancelled) {
      if (typeof call !== 'string') return { signal: cancelled, close() {} }
      const ending = new AbortController()
      running.set(call, ending)
      return { signal: AbortSignal.any([cancelled, ending.signal]), close: () => void running.delete(call) }
    },
    end: (call) => running.get(call)?.abort(),
  }
}
