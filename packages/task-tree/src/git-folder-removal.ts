import { MatrixError } from '@matrix/protocol'
import { removeFile } from './durable-file.ts'
import { dropGitRecord, gitFolderOf, readGitRecord } from './git-folder-record.ts'
import { readGitFolder } from './git-folder-state.ts'
import { damagedHead } from './git-sync.ts'
import { askSandbox, sandboxFailed } from './sandbox-git.ts'
import { findUnkept } from './snapshot.ts'
import { importCommits } from './take-over.ts'
import type { WorktreeWork } from './worktree-creation.ts'

/**
 * Brings everything that an agent has committed, stashed or staged and that is on no branch of the repository into it, for a snapshot
 * to keep. A git directory that cannot be read is set aside instead, so that nothing in it is lost and the removal need not wait.
 */
export async function saveGitFolder(work: WorktreeWork, taskId: string): Promise<string[]> {
  const { disk, repository, places, sandbox, newId } = work
  const place = sandbox && gitFolderOf(sandbox.directory, taskId)
  const record = place && (await readGitRecord(disk, place))
  if (!record || (await disk.kind(place.folder)) !== 'directory') return []
  const from = { gitDir: place.folder, readable: record.objects }
  try {
    if (readGitFolder(place.folder, record.branch).head === undefined) throw damagedHead(place, record.branch)
    const answer = await askSandbox(sandbox, { ...from, script: listing }, { timeoutMs: 15_000 })
    if (answer.code !== 0) throw sandboxFailed('list its commits', answer)
    const tips = answer.stdout.split('\n').filter((line) => /^[0-9a-f]{40,64}$/.test(line))
    const known = [record.tip, ...(await branchTips(work, record.branch))]
    if (tips.length > 0) await importCommits({ ...work, sandbox }, from, { tips: [...new Set(tips)], known })
    return await findUnkept(repository, tips, undefined)
  } catch (error) {
    if (!(error instanceof MatrixError) || error.code === 'STORAGE_FULL') throw error
    await disk.rename(place.folder, places.aside(`${taskId}-git-${newId()}`))
    return []
  }
}

/** Forgets the git directory of a task whose commits are all kept elsewhere. */
export async function dropGitFolder({ disk, sandbox, seen, refusals }: WorktreeWork, taskId: string): Promise<void> {
  seen.delete(taskId)
  refusals.delete(taskId)
  if (!sandbox) return
  const place = gitFolderOf(sandbox.directory, taskId)
  await dropGitRecord(disk, place)
  await removeFile(disk, place.link)
  await disk.removeTree(place.folder)
}

async function branchTips({ repository }: WorktreeWork, branch: string): Promise<string[]> {
  const commit = await repository.findCommit(`refs/heads/${branch}`)
  return commit ? [commit] : []
}

// Branches, tags, every stash, where HEAD is, and what is staged; at most so many that a pack can name them.
const listing = `
{
  git for-each-ref --format='%(objectname)'
  git rev-parse --verify --quiet HEAD
  git log --walk-reflogs --format=%H refs/stash -- 2>/dev/null
  git diff --cached --quiet HEAD 2>/dev/null ||
    git -c user.name=Matrix -c user.email=matrix@localhost commit-tree -p HEAD -m staged "$(git write-tree)" 2>/dev/null
} | sed 's/$/^{commit}/' | git cat-file --batch-check='%(objectname) %(objecttype)' |
  sed -n 's/ commit$//p' | sort -u | head -n 500
`
