import type { SetupHook } from '@matrix/task-tree'
import { askForApproval } from './approvals.ts'
import { type Subject, subjectDigest } from './config/trust.ts'
import type { ProjectContext } from './project-context.ts'

/** Nobody is hurried: what waits for this answer is a worktree that cannot be made without it. */
const PATIENCE_MS = 365 * 24 * 3600 * 1000

/** Whether the script that comes with a repository may run. A person is asked once for each version of it. */
export async function approveSetup(ctx: ProjectContext, hook: SetupHook): Promise<boolean> {
  const subject: Subject = { kind: 'setup', projectId: ctx.id, name: 'setup_worktree.sh', content: hook.sha256 }
  if (await ctx.trust.isTrusted(subject)) return true
  const { setupApprovals } = ctx
  const asked =
    setupApprovals.get(hook.sha256) ?? ask(ctx, hook, subject).finally(() => setupApprovals.delete(hook.sha256))
  setupApprovals.set(hook.sha256, asked)
  return asked
}

async function ask(ctx: ProjectContext, { path, sha256 }: SetupHook, subject: Subject): Promise<boolean> {
  const answer = await askForApproval(
    ctx,
    ctx.tree.root().id,
    {
      id: `setup-${sha256}`,
      uri: path,
      side_effect_class: 'shell',
      input: { script: (await ctx.world.files.read(path)) ?? '' },
      inputDigest: sha256,
      reason: 'It runs outside of any box whenever a worktree is made.',
      expiresAt: ctx.world.clock.now() + PATIENCE_MS,
    },
    { signal: ctx.closing.signal, holdsUp: ({ activity }) => activity === 'starting' },
  )
  if (answer.decision === 'deny') return false
  if (answer.scope !== 'once') await ctx.trust.add(subject, subjectDigest(subject))
  return true
}
