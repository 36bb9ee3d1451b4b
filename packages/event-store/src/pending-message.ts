import type { DurableEvent, QueueMessage } from '@matrix/protocol'

/** The messages that wait to be consumed, oldest first. One that was delivered twice waits once; a consumed one never comes back. */
export function findPendingMessages(events: Iterable<DurableEvent>): QueueMessage[] {
  const pending = new Map<string, QueueMessage>()
  const consumed = new Set<string>()
  for (const event of events) {
    if (event.type === 'message' && !pending.has(event.message.id)) pending.set(event.message.id, event.message)
    if (event.type === 'messages_consumed' || event.type === 'messages_withdrawn')
      for (const id of event.messageIds) consumed.add(id)
  }
  return [...pending.values()].filter(({ id }) => !consumed.has(id))
}
