import { setTimeout as timer } from 'node:timers/promises'

/** Everything the loop would otherwise take from its surroundings, so that a test decides what time and chance do. */
export type Ports = {
  /** Milliseconds since 1970. */
  now(): number
  /** At least 0, below 1. */
  random(): number
  /** Resolves early, without an error, when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** The real clock, real chance. */
export const systemPorts: Ports = {
  now: Date.now,
  random: Math.random,
  sleep: (ms, signal) => timer(ms, undefined, { signal }).catch(() => undefined),
}
