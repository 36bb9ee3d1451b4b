import { isWaking, type QueueMessage } from '@matrix/protocol'

/**
 * Messages on their way to one agent. It only caches: a message is stored before it is enqueued, so that losing
 * the queue loses nothing.
 */
export type MessageQueue = {
  /** A message that was enqueued before, by its id, is not enqueued again. After `close` nothing is accepted. */
  enqueue(message: QueueMessage): boolean
  /** Takes everything that waits, oldest first. */
  drain(): QueueMessage[]
  /**
   * Resolves with `true` when a message waits (one that `accept` wants, if given), with `false` when the queue is
   * closed or the signal fires. Takes nothing.
   */
  wait(signal?: AbortSignal, accept?: (message: QueueMessage) => boolean): Promise<boolean>
  /** Whether a message waits that is a reason to wake the agent. */
  hasWaking(): boolean
  /** Takes one message back that nobody has taken yet; `false` when it is too late. */
  withdraw(messageId: string): boolean
  close(): void
  readonly size: number
  readonly closed: boolean
}

export function createMessageQueue(messages: Iterable<QueueMessage> = []): MessageQueue {
  const seen = new Set<string>()
  const waiters = new Set<() => void>()
  let pending: QueueMessage[] = []
  let closed = false

  function wakeAll(): void {
    for (const wake of [...waiters]) wake()
  }

  function enqueue(message: QueueMessage): boolean {
    if (closed || seen.has(message.id)) return false
    seen.add(message.id)
    pending.push(message)
    wakeAll()
    return true
  }
  for (const message of messages) enqueue(message)

  return {
    enqueue,
    drain() {
      const taken = pending
      pending = []
      return taken
    },
    wait(signal, accept = () => true) {
      return new Promise((resolve) => {
        const settle = (outcome: boolean) => {
          waiters.delete(check)
          signal?.removeEventListener('abort', check)
          resolve(outcome)
        }
        const check = () => {
          if (closed || signal?.aborted) settle(false)
          else if (pending.some(accept)) settle(true)
        }
        waiters.add(check)
        signal?.addEventListener('abort', check)
        check()
      })
    },
    hasWaking: () => pending.some(isWaking),
    withdraw(messageId) {
      const before = pending.length
      pending = pending.filter(({ id }) => id !== messageId)
      return pending.length < before
    },
    close() {
      closed = true
      wakeAll()
    },
    get size() {
      return pending.length
    },
    get closed() {
      return closed
    },
  }
}
