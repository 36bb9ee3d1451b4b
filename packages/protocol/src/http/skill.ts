import * as z from 'zod'

/**
 * `ready` is approved and unchanged, or the user's own. `unapproved` came with the repository and waits for the user, `changed`
 * is another than what was approved, `invalid` cannot be read.
 */
export const SkillState = z.enum(['ready', 'unapproved', 'changed', 'invalid'])
export type SkillState = z.infer<typeof SkillState>

export const SkillView = z.object({
  name: z.string(),
  description: z.string(),
  source: z.enum(['home', 'repository']),
  /** As it is shown: relative to the repository, or below `~`. */
  folder: z.string(),
  state: SkillState,
  /** Of what is there now; null where it cannot be read. */
  digest: z.string().nullable(),
  /** Why it cannot be used, and what the files themselves get wrong. */
  notes: z.array(z.string()),
  /** Tools that it holds a task to where it is attached; null where it limits none. */
  allows: z.array(z.string()).nullable(),
})
export type SkillView = z.infer<typeof SkillView>

export const SkillDetail = SkillView.extend({
  files: z.array(
    z.object({
      path: z.string(),
      bytes: z.number().int(),
      change: z.enum(['same', 'added', 'changed', 'removed']),
      /** The whole text; null where it is none that can be shown. */
      text: z.string().nullable(),
      /** What differs from what was approved, word by word. */
      difference: z.string().optional(),
    }),
  ),
})
export type SkillDetail = z.infer<typeof SkillDetail>
