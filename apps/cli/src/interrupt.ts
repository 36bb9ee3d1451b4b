/** Ends with the first Ctrl-C, or when the process is asked to go; a second Ctrl-C then works as it always does. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort())
  return controller.signal
}
