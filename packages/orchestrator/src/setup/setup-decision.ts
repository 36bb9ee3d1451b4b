import { MatrixError } from '@matrix/protocol'
import { CheckoutFiles } from '@matrix/protocol/http'
import * as z from 'zod'
import type { World } from '../world.ts'
import { digestOf } from './setup-script.ts'

const stamp = {
  /** The repository's own script when this was decided, by its hash: another one asks again. */
  seen: z.string().nullable(),
  decidedAt: z.iso.datetime(),
}

/** What a user has decided about the setup of a project. The bytes of a script are part of it. */
export const SetupDecision = z.discriminatedUnion('choice', [
  z.strictObject({ choice: z.literal('none'), ...stamp }),
  z.strictObject({
    choice: z.literal('script'),
    script: z.string(),
    sha256: z.string(),
    /** What the script may read of the user's checkout. */
    files: CheckoutFiles.default([]),
    ...stamp,
  }),
])
export type SetupDecision = z.infer<typeof SetupDecision>

/** The decision of one project, in a file of the user's own. */
export type SetupDecisions = {
  read(): Promise<SetupDecision | undefined>
  keep(decision: SetupDecision): Promise<void>
}

/** A file that is damaged, or whose script is not the one that its hash names, decides nothing: the user is asked again. */
export function openSetupDecisions({ files }: Pick<World, 'files'>, file: string): SetupDecisions {
  return {
    async read() {
      const text = await files.read(file)
      const decision = text === undefined ? undefined : parse(text)
      if (decision?.choice === 'script' && digestOf(decision.script) !== decision.sha256) return undefined
      return decision
    },
    keep: (decision) => files.write(file, `${JSON.stringify(decision, null, 2)}\n`),
  }
}

/** Whether a decision holds for a repository that has this script now. One whose script is gone changes nothing. */
export function holdsFor({ seen }: SetupDecision, current: string | null): boolean {
  return current === null || current === seen
}

export function undecided(reason: string): MatrixError {
  return new MatrixError('SETUP_UNDECIDED', reason)
}

function parse(text: string): SetupDecision | undefined {
  try {
    return SetupDecision.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
