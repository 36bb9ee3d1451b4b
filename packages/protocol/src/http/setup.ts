import * as z from 'zod'
import { CheckoutFiles } from './checkout-file.ts'

/** The repository's own script that was shown, by its hash; null where there was none. */
const seen = z.string().max(64).nullable()

/** What a user decides about the setup of a project: a script that runs in every new worktree, or that nothing is needed. */
export const SetupChoice = z.discriminatedUnion('choice', [
  z.object({ choice: z.literal('none'), seen: seen.optional() }),
  z.object({
    choice: z.literal('script'),
    script: z.string().max(256 * 1024),
    /** What the script may read of the user's checkout, below `$MXD_REPOSITORY`. */
    files: CheckoutFiles.optional(),
    seen: seen.optional(),
  }),
])
export type SetupChoice = z.infer<typeof SetupChoice>

/** The setup of a project: what was found, what is proposed, and what was decided. Nothing of it has been run. */
export const SetupView = z.object({
  /** Null until a user decides, and again when the repository's own script has changed since. */
  decision: z
    .object({
      choice: z.enum(['none', 'script']),
      script: z.string().nullable(),
      files: CheckoutFiles,
      sha256: z.string().nullable(),
      decidedAt: z.iso.datetime(),
    })
    .nullable(),
  /** Why there is no decision, if there was one. */
  changed: z.string().nullable(),
  proposal: z.object({
    choice: z.enum(['none', 'script']),
    script: z.string().nullable(),
    /** The files of the checkout that the script names. */
    files: CheckoutFiles,
    /** `repository`: its own `.mxd/hooks/setup_worktree.sh`; `detected`: made from what was found. */
    source: z.enum(['repository', 'detected']),
    /** What is left out or was changed, in sentences. */
    notes: z.array(z.string()),
  }),
  seen,
  detected: z.object({
    languages: z.array(z.string()),
    found: z.array(z.object({ ecosystem: z.string(), because: z.string(), folder: z.string() })),
    testCommand: z.string().nullable(),
  }),
  /** Hosts that the lock files and the configuration of the project name. */
  hosts: z.array(z.object({ host: z.string(), from: z.string() })),
  /** Files that tell agents how to work here. */
  instructions: z.array(z.string()),
  sandbox: z.object({ isActive: z.boolean(), reason: z.string().nullable() }),
})
export type SetupView = z.infer<typeof SetupView>
