import { ok } from 'node:assert/strict'
import { type DurableEvent, MatrixError } from '@matrix/protocol'
import type { EventStore } from './event-store.ts'
import type { RewindMarker } from './fork.ts'
import type { StoredEvent } from './stored-event.ts'

/** Opens the store of one case. A second call, after the first store was closed, opens the same data again. */
export type OpenStore = () => Promise<EventStore>

export type ContractCase = { name: string; run(open: OpenStore): Promise<void> }

export const stamp = { taskId: 't', ts: '2026-01-01T00:00:00.000Z' }

export const said = (text: string): DurableEvent => ({ type: 'assistant_text', ...stamp, text })
export const compacted = (checkpoint: string): DurableEvent => ({ type: 'compact_marker', ...stamp, checkpoint })
export const rewound = (upTo: number): RewindMarker => ({ type: 'rewind_marker', ...stamp, upTo })
export const consumed = (...messageIds: string[]): DurableEvent => ({ type: 'messages_consumed', ...stamp, messageIds })
export const called = (callId: string): DurableEvent => ({ type: 'tool_call', ...stamp, callId, name: 'n', input: {} })
export const message = (id: string): DurableEvent => ({
  type: 'message',
  ...stamp,
  message: { source: 'user', id, text: id },
})
export const marker = (taskId: string) => ({ taskId, ts: stamp.ts, title: taskId, description: '', worktreePath: null })

export function answered(callId: string, text = 'ok', taskId = 't'): DurableEvent {
  return { type: 'tool_result', ...stamp, taskId, callId, content: [{ type: 'text', text }], isError: false }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

export async function readStored(
  store: EventStore,
  sessionId: string,
  options?: { after?: number; limit?: number },
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const batch of store.read(sessionId, options)) events.push(...batch)
  return events
}

export async function readAll(store: EventStore, sessionId: string): Promise<unknown[]> {
  return (await readStored(store, sessionId)).map(({ event }) => event)
}

export function isError(code: string): (error: unknown) => boolean {
  return (error) => error instanceof MatrixError && error.code === code
}

export async function waitFor(condition: () => boolean): Promise<void> {
  for (let waits = 0; !condition() && waits < 3000; waits += 1) await new Promise((resolve) => setTimeout(resolve, 10))
  ok(condition(), 'nothing was heard for half a minute')
}
