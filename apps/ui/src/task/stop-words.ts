import { plural } from '@matrix/protocol/display'

/** What a stop has kept, in words. */
export function describeStop(kept: { stopped: number; pending: number; uncommitted: number | undefined }): {
  title: string
  detail: string
} {
  const { stopped, pending, uncommitted } = kept
  return {
    title: stopped === 0 ? 'Nothing was running' : `Stopped ${plural(stopped, 'agent')}`,
    detail: [
      'The conversation is kept',
      ...(uncommitted
        ? [`${plural(uncommitted, 'file')} not committed yet ${uncommitted === 1 ? 'stays' : 'stay'} in the worktree`]
        : []),
      ...(pending > 0 ? [`${plural(pending, 'message')} still ${pending === 1 ? 'waits' : 'wait'}`] : []),
    ].join(' · '),
  }
}
