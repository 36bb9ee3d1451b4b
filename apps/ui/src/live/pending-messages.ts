import type { QueueMessage } from '@matrix/protocol'
import type { SessionEvent } from '@matrix/protocol/http'

/** The messages that an agent has not read yet: a list read once, kept true by what happens. */
export function openPendingMessages() {
  let waiting: readonly QueueMessage[] = []
  // While the list is being read, what happens may or may not be in it already.
  let heard: { arrived: QueueMessage[]; gone: Set<string> } | undefined

  return {
    list: () => waiting,
    /** Before the list is asked for. */
    expectList(): void {
      heard = { arrived: [], gone: new Set() }
    },
    takeList(list: readonly QueueMessage[]): void {
      const { arrived = [], gone = new Set<string>() } = heard ?? {}
      const all = new Map([...list, ...arrived].map((message) => [message.id, message]))
      waiting = [...all.values()].filter(({ id }) => !gone.has(id))
      heard = undefined
    },
    takeEvent({ event }: SessionEvent): void {
      if (isArrival(event)) {
        heard?.arrived.push(event.message)
        if (!waiting.some(({ id }) => id === event.message.id)) waiting = [...waiting, event.message]
      } else if (isLeaving(event)) {
        for (const id of event.messageIds) heard?.gone.add(id)
        waiting = waiting.filter(({ id }) => !event.messageIds.includes(id))
      }
    },
    /** A message that was taken back is gone at once, whatever a later event says about it. */
    remove(messageId: string): void {
      heard?.gone.add(messageId)
      waiting = waiting.filter(({ id }) => id !== messageId)
    },
  }
}

type Arrival = { type: 'message'; message: QueueMessage }
type Leaving = { type: 'messages_consumed' | 'messages_withdrawn'; messageIds: string[] }

function isArrival(event: SessionEvent['event']): event is Arrival & SessionEvent['event'] {
  return event.type === 'message'
}

/** Read or taken back: either way it does not wait any more. */
function isLeaving(event: SessionEvent['event']): event is Leaving & SessionEvent['event'] {
  return event.type === 'messages_consumed' || event.type === 'messages_withdrawn'
}
