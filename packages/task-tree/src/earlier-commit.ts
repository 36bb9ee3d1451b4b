import type { Repository } from './repository.ts'

export type Earlier = { branch: string; message: string; since: Date }

/** The commit with these words that was made on a branch since then, for calls that are made again after a crash. */
export async function findEarlierCommit(
  repository: Repository,
  { branch, message, since }: Earlier,
): Promise<string | undefined> {
  const { text } = await repository.refs([
    'log',
    '-z',
    '--first-parent',
    '--max-count=50',
    '--format=%H %ct %B',
    '--end-of-options',
    `refs/heads/${branch}`,
  ])
  // git counts whole seconds.
  const from = Math.floor(since.getTime() / 1000)
  for (const entry of text().split('\0')) {
    const [, commit, at, words = ''] = /^(\S+) (\d+) ([\s\S]*)$/.exec(entry) ?? []
    if (commit && Number(at) >= from && words.trim() === message) return commit
  }
  return undefined
}
