import { createHash } from 'node:crypto'
import type { Agent, EventOf } from '../agent.ts'

/** An id that the same call always leads to, so that making it again makes nothing new. Sorts by the time of the call. */
export function idForCall(agent: Agent, callId: string): string {
  const at = Date.parse(agent.callTimes.get(callId) ?? '')
  const chance = createHash('sha256').update(`${agent.taskId}/${callId}`).digest()
  return encodeTime(Number.isNaN(at) ? 0 : at) + encodeChance(chance)
}

/**
 * The id of the message that a call leads to, however often it is made again. Some providers number the calls of each answer anew,
 * so that only the time tells a call from an earlier one.
 */
export function messageIdOf({ taskId, callId, ts }: Pick<EventOf<'tool_call'>, 'taskId' | 'callId' | 'ts'>): string {
  return `${taskId}/${callId}/${ts}`
}

/** The same for a call that is being made. */
export function messageIdForCall({ taskId, callTimes }: Agent, callId: string): string {
  return messageIdOf({ taskId, callId, ts: callTimes.get(callId) ?? '' })
}

/** When a call that is made again was made first; what was done since is its own doing. A clock that was set back cannot tell. */
export function firstMadeAt(
  agent: Pick<Agent, 'repeated' | 'callTimes'>,
  callId: string,
  now: number,
): { since?: Date } {
  const at = agent.repeated.has(callId) && agent.callTimes.get(callId)
  if (!at) return {}
  return { since: new Date(now < Date.parse(at) ? 0 : at) }
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

function encodeTime(at: number): string {
  let text = ''
  for (let rest = at, index = 0; index < 10; index += 1, rest = Math.floor(rest / 32)) text = alphabet[rest % 32] + text
  return text
}

function encodeChance(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 16), (byte) => alphabet[byte % 32]).join('')
}
