import { join } from 'node:path'
import { digestValue } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import * as z from 'zod'
import type { World } from '../world.ts'

/** Something a repository brings along that could act on its user's machine. */
export type Subject = { kind: 'server' | 'agent'; projectId: string; name: string; content: unknown }

const Trusted = z.strictObject({
  digest: z.string(),
  // Earlier versions kept approved setup scripts here as well.
  kind: z.enum(['server', 'agent', 'setup']),
  projectId: z.string(),
  name: z.string(),
  trustedAt: z.iso.datetime(),
})
export type Trusted = z.infer<typeof Trusted>

const TrustFile = z.strictObject({ trusted: z.array(Trusted) })

/** What of their repositories a person has agreed to, each bound to the digest of exactly what they saw. */
export type Trust = {
  isTrusted(subject: Subject): Promise<boolean>
  /** `digest` is that of what the person was shown: when it is no longer what is there, nothing is trusted. */
  add(subject: Subject, digest: string): Promise<void>
  remove(digest: string): Promise<void>
  list(): Promise<Trusted[]>
}

/** In the same words for another project it is something else: a relative path leads to other files there. */
export function subjectDigest({ kind, projectId, name, content }: Subject): string {
  return digestValue({ kind, projectId, name, content })
}

/** The file is read anew for each question, so that what somebody takes out of it is taken back at once; one that is damaged trusts nothing. */
export function openTrust({ files, clock }: Pick<World, 'files' | 'clock'>, options: { dataDirectory: string }): Trust {
  const file = join(options.dataDirectory, 'approvals', 'repositories.json')
  let tail: Promise<unknown> = Promise.resolve()

  async function list(): Promise<Trusted[]> {
    try {
      const text = await files.read(file)
      return text === undefined ? [] : TrustFile.parse(JSON.parse(text)).trusted
    } catch {
      return []
    }
  }

  function change(edit: (trusted: Trusted[]) => Trusted[]): Promise<void> {
    const done = tail.then(async () => {
      await files.write(file, `${JSON.stringify({ trusted: edit(await list()) }, null, 2)}\n`)
    })
    tail = done.catch(() => {})
    return done
  }

  return {
    list,
    isTrusted: async (subject) => (await list()).some(({ digest }) => digest === subjectDigest(subject)),
    async add(subject, digest) {
      if (digest !== subjectDigest(subject))
        throw new MatrixError('APPROVAL_UNKNOWN', `${subject.name} is no longer what was shown.`, {
          hint: 'Look at it again, then approve what is there now.',
        })
      const { kind, projectId, name } = subject
      const trustedAt = new Date(clock.now()).toISOString()
      await change((trusted) => [
        ...trusted.filter((each) => each.digest !== digest),
        { digest, kind, projectId, name, trustedAt },
      ])
    },
    remove: (digest) => change((trusted) => trusted.filter((each) => each.digest !== digest)),
  }
}
