import type { Event, LiveEvent } from '@matrix/protocol'

/** Starts the steps of a run, which end with this signal and may say something while one of them is under way. */
type Begin<Result> = (signal: AbortSignal, say: (event: LiveEvent) => void) => AsyncGenerator<Event, Result>

/**
 * The steps of a run, and what is said while the next one is awaited: words come from the wire when they like, and
 * thousands of them a second are too many to be handed on by every step. Who stops listening ends what is under way.
 */
export async function* withSpeech<Result>(signal: AbortSignal, begin: Begin<Result>): AsyncGenerator<Event, Result> {
  const own = new AbortController()
  const abort = () => own.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  const speech = openSpeech()
  const steps = begin(own.signal, speech.say)
  let ended = false
  try {
    for (;;) {
      const next = steps.next()
      next.then(speech.end, speech.end)
      for (let event = await speech.next(); event; event = await speech.next()) yield event
      const step = await next
      ended = step.done === true
      if (step.done) return step.value
      yield step.value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    if (!ended) {
      own.abort()
      await steps.return(undefined as never)
    }
  }
}

type Speech = { say(event: LiveEvent): void; end(): void; next(): Promise<Event | undefined> }

/** What has been said and not yet heard; after `end` and the last of it there is one `undefined`. */
function openSpeech(): Speech {
  const said: Event[] = []
  let isOver = false
  let wake = () => {}
  return {
    say(event) {
      said.push(event)
      wake()
    },
    end() {
      isOver = true
      wake()
    },
    async next() {
      while (said.length === 0 && !isOver)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      const event = said.shift()
      if (!event) isOver = false
      return event
    },
  }
}
