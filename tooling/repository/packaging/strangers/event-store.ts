import { findPendingMessages, openEventStore } from '@matrix/event-store'
import { eventStoreContract, planCrashes } from '@matrix/event-store/testing'

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise)
}

const taskId = '01K6Z0M3S3Q8T4V5W6X7Y8Z9AB'
const ts = '2026-01-01T00:00:00.000Z'
const directory = `./data-${Date.now()}`

const store = await openEventStore(directory)
const fence = await store.claim(taskId, 'a stranger')
await store.append(taskId, fence, [
  { type: 'message', taskId, ts, message: { source: 'user', id: 'm1', text: 'Where is the needle?' } },
  { type: 'assistant_text', taskId, ts, text: 'In the haystack.' },
])
await store.index.catchUp()
const { hits } = await store.index.search('haystack')
await store.close()
check(hits[0]?.seq === 2, 'What was said is not found.')

const again = await openEventStore(directory)
check((await again.lastSeq(taskId)) === 2, 'What was acknowledged is gone.')
check(findPendingMessages(await again.readActive(taskId))[0]?.id === 'm1', 'The message does not wait.')
await again.close()

check(eventStoreContract.length > 10 && [...planCrashes(5)].length > 0, 'There is nothing to test a store with.')
