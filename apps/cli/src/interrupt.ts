/** Thrown where a command ends because somebody pressed Ctrl-C: nothing is wrong, and nothing is left to be said. */
export class InterruptedError extends Error {
  override name = 'InterruptedError'
}

/** Ends with the first Ctrl-C, or when the process is asked to go; a second Ctrl-C then works as it always does. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort())
  return controller.signal
}
