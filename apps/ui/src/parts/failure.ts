export type FailureWords = { code: string; message: string; hint: string }

/** Something that went wrong in the page itself, with what to do about it. */
export function failure(message: string, hint: string): Error {
  return Object.assign(new Error(message), { hint })
}

/** Whatever was thrown, as words for people. Errors of the client carry a code and a hint already. */
export function describeFailure(error: unknown): FailureWords {
  if (!(error instanceof Error)) return { code: 'INTERNAL', message: String(error), hint: 'Reload the page.' }
  const { code, hint } = error as Error & { code?: unknown; hint?: unknown }
  return {
    code: typeof code === 'string' ? code : 'INTERNAL',
    message: error.message || 'Something went wrong in the page.',
    hint: typeof hint === 'string' ? hint : 'Reload the page; nothing that the daemon has acknowledged is lost.',
  }
}
