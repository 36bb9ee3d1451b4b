import { MatrixError, printableLine } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
import type { SetupEffect, SetupPlace } from '@matrix/task-tree'
import type { ProjectContext } from '../project-context.ts'
import { isoNow } from '../world.ts'
import type { SetupDecision } from './setup-decision.ts'

const SHOW_EVERY_MS = 500

/** Runs what was decided in a worktree, and shows on its task how far it is. */
export async function runSetup(
  ctx: ProjectContext,
  decision: SetupDecision,
  place: SetupPlace,
  { signal, onOutput }: { signal?: AbortSignal | undefined; onOutput?: (text: string) => void } = {},
): Promise<void> {
  if (decision.choice === 'none') return
  const { script, sha256, files } = decision
  const { setupTimeoutMs: timeoutMs } = await ctx.settings()
  const leave = await ctx.heavyTools.enter(signal ?? ctx.closing.signal)
  const progress = showProgress(ctx, place.taskId)
  try {
    await ctx.setup.run({
      script,
      sha256,
      files,
      place,
      timeoutMs,
      signal,
      onOutput(text) {
        progress.heard(text)
        onOutput?.(text)
      },
    })
  } finally {
    progress.end()
    leave()
  }
}

/** What the agent is told of a setup that changed what git sees; undefined where it changed nothing. */
export function describeEffect({ restored, excluded }: SetupEffect): string | undefined {
  const parts = [
    ...(restored.length > 0 ? [`The setup changed tracked files, which were restored: ${listed(restored)}.`] : []),
    ...(excluded.length > 0
      ? [`The setup made files that git does not ignore; Matrix keeps them out of commits: ${listed(excluded)}.`]
      : []),
  ]
  return parts.length > 0 ? parts.join(' ') : undefined
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 10).map(printableLine).join(', ')
  return paths.length > 10 ? `${shown} and ${paths.length - 10} more` : shown
}

/** `Setup: npm ci, 12s: added 3 packages`. The step is the last command that the shell traced. */
function showProgress(ctx: ProjectContext, taskId: string): { heard(text: string): void; end(): void } {
  const { clock } = ctx.world
  const startedAt = clock.now()
  let step = ''
  let last = ''
  let rest = ''
  let cancel: (() => void) | undefined

  function show(): void {
    cancel = clock.after(SHOW_EVERY_MS, show)
    const ran = formatDuration(clock.now() - startedAt)
    const text = `Setup: ${step ? `${step}, ` : ''}${ran}${last ? `: ${last}` : ''}`
    const agent = ctx.agents.get(taskId)
    if (!agent || agent.doing === text) return
    agent.doing = text
    agent.idle.moved()
    ctx.touch(taskId)
    ctx.emit({
      kind: 'live',
      projectId: ctx.id,
      taskId,
      event: { type: 'status', taskId, ts: isoNow(ctx.world), text },
    })
  }

  show()
  return {
    heard(text) {
      const lines = (rest + text).split(/[\r\n]+/)
      rest = (lines.pop() ?? '').slice(-1000)
      for (const line of lines.slice(-200)) {
        const traced = /^\++ (.+)/.exec(line)?.[1]
        if (traced !== undefined) [step, last] = [shortened(traced), '']
        else if (line.trim() !== '') last = shortened(line)
      }
    },
    end() {
      cancel?.()
      const agent = ctx.agents.get(taskId)
      if (agent) agent.doing = undefined
      ctx.touch(taskId)
    },
  }
}

function shortened(text: string): string {
  return printableLine(text.trim()).slice(0, 120)
}

/** Runs the decided setup again in the worktree of a task, and answers with what it printed last. */
export async function rerunSetup(
  ctx: ProjectContext,
  decision: SetupDecision,
  { taskId, baseBranch, signal }: { taskId: string; baseBranch: string; signal: AbortSignal },
): Promise<string> {
  if (decision.choice === 'none') return 'The user decided that this project needs no setup: nothing was run.'
  const place = await ctx.worktrees.findSetupPlace(taskId, baseBranch)
  if (!place) throw new MatrixError('WORKTREE_UNKNOWN', `There is no worktree of task ${taskId}`)
  const before = new Set(await ctx.worktrees.uncommitted(taskId))
  let output = ''
  await runSetup(ctx, decision, place, {
    signal,
    onOutput: (text) => {
      output = (output + text).slice(-4000)
    },
  })
  const changed = (await ctx.worktrees.uncommitted(taskId)).filter((path) => !before.has(path))
  return [
    'The setup passed. Its last lines:',
    output.trim() || '(it printed nothing)',
    ...(changed.length > 0 ? [`Files that differ from your last commit now: ${listed(changed)}.`] : []),
  ].join('\n')
}
