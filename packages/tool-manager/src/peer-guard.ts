import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'

export type PeerGuardOptions = {
  /** Told of each message that no honest server sends, in words without its content. */
  onViolation?: ((what: string) => void) | undefined
}

/** The SDK knows a pipe by these two names. What a silence or an early end means is different there. */
export type PipeTransport = Transport & { readonly pid: null; readonly stderr: null }

/** After this many a server is not confused but hostile. */
const MAX_VIOLATIONS = 32

/**
 * Lets through only what a server may say: answers to questions that are still open, by exactly their id, and
 * notifications. Questions of its own reach the client, which declines them, but too many of either end the connection.
 */
export function guardPeer(inner: Transport, { onViolation }: PeerGuardOptions = {}): PipeTransport {
  const open = new Set<string | number>()
  let violations = 0

  const outer: PipeTransport = {
    pid: null,
    stderr: null,
    async start() {
      inner.onclose = () => outer.onclose?.()
      inner.onerror = (error) => outer.onerror?.(error)
      inner.onmessage = receive
      await inner.start()
    },
    send(message, options) {
      if ('method' in message && 'id' in message) open.add(message.id)
      return inner.send(message, options)
    },
    close: () => inner.close(),
  }

  function receive(message: JSONRPCMessage): void {
    if (violations >= MAX_VIOLATIONS) return
    if ('method' in message) {
      if ('id' in message && message.method !== 'ping') violate(`asked for ${message.method.slice(0, 64)}`)
      outer.onmessage?.(message)
    } else if (message.id !== undefined && open.delete(message.id)) outer.onmessage?.(message)
    else violate('answered what was not asked')
  }

  function violate(what: string): void {
    violations += 1
    onViolation?.(what)
    if (violations !== MAX_VIOLATIONS) return
    outer.onerror?.(new Error(`The server broke the protocol ${violations} times.`))
    void inner.close()
  }

  return outer
}
