import { openJsonlEventStore } from '@matrix/event-store'
import type { DurableEvent } from '@matrix/protocol'

const words = Array.from({ length: 30_000 }, (_, index) => `w${((index * 2654435761) >>> 0).toString(36)}`)

/** A session to be made up: how many events of work, and what stands around them. */
export type MadeUpSession = { id: string; events: number; first?: DurableEvent[]; last?: DurableEvent[] }

export async function writeSessions(folder: string, sessions: MadeUpSession[]): Promise<void> {
  const store = await openJsonlEventStore(folder, { durability: 'relaxed' })
  for (const [number, { id, events, first = [], last = [] }] of sessions.entries()) {
    const work = Array.from({ length: events - first.length - last.length }, (_, n) => event(id, number, n))
    const fence = await store.claim(id, 'bench')
    await store.append(id, fence, [...first, ...work, ...last])
    await store.release(id, fence)
  }
  await store.close()
}

export function word(rank: number): string {
  return words[rank] ?? 'w'
}

// Few words are common and most are rare, as in any language.
function text(length: number): string {
  let result = ''
  while (result.length < length) result += `${word(Math.floor(30_000 * Math.random() ** 4))} `
  return result
}

function event(taskId: string, session: number, n: number): DurableEvent {
  const stamp = { taskId, ts: new Date(1_767_225_600_000 + n * 60_000).toISOString() }
  if (n % 10 === 0)
    return {
      type: 'turn_completed',
      ...stamp,
      model: `model-${session % 3}`,
      stopReason: 'tool_use',
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
      costUsd: 0.01,
    }
  if (n % 10 < 5)
    return { type: 'tool_call', ...stamp, callId: `c${n}`, name: 'mcp__mxd__bash', input: { command: text(400) } }
  return {
    type: 'tool_result',
    ...stamp,
    callId: `c${n - 5}`,
    content: [{ type: 'text', text: text(1400) }],
    isError: false,
  }
}
