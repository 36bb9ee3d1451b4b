const waiting: (() => void)[] = []

/**
 * Resolves in an iteration of the event loop that nobody else who waits here shares. When hundreds of answers
 * arrive at once, one agent after the other takes its turn, and timers and other requests come in between.
 */
export function ownIteration(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(letNextGoOn)
  })
}

function letNextGoOn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(letNextGoOn)
}
