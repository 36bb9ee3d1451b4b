import type { Origin } from '@matrix/protocol'
import * as z from 'zod'

/** How a background command is doing, as the tool that runs it says. */
export const ProcessState = z.object({ isRunning: z.boolean(), exitCode: z.number().nullable(), output: z.string() })
export type ProcessState = z.infer<typeof ProcessState> & { origin?: Origin }

/** Follows a background command to its end, and tells of it once: also when nobody can say any more how it ended. */
export async function watchProcess(
  ask: () => Promise<ProcessState>,
  { signal, onEnd }: { signal: AbortSignal; onEnd(state: ProcessState): void },
): Promise<void> {
  while (!signal.aborted) {
    const state = await ask().catch(unknownEnd)
    if (state.isRunning) continue
    if (!signal.aborted) onEnd(state)
    return
  }
}

function unknownEnd(error: unknown): ProcessState {
  const reason = error instanceof Error ? error.message : String(error)
  return { isRunning: false, exitCode: null, output: `How it ended is not known: ${reason}` }
}
