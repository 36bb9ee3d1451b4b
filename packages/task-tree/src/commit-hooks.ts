import { isAbsolute, join, relative } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import type { Disk } from './disk.ts'
import { gitFolderOf, readGitRecord } from './git-folder-record.ts'
import { ownSettings, type Repository } from './repository.ts'
import { askSandbox } from './sandbox-git.ts'
import type { WorktreeWork } from './worktree-creation.ts'

/** What hooks made of a commit: the message, which they may change, and what they printed. */
export type Hooked = { message: string; output: string }

const PATIENCE_MS = 10 * 60_000

/**
 * Where the hooks of a repository are, for the git of a sandbox: a folder inside the worktree, or an absolute one that is mounted
 * read-only. Empty where there are none.
 */
export async function findHooks(disk: Disk, repository: Repository): Promise<string> {
  const configured = await findConfiguredHooks(repository)
  if (configured) return configured
  const folder = join(repository.gitDir, 'hooks')
  const names = await disk.list(folder).catch(() => [])
  return names.some((name) => !name.endsWith('.sample')) ? folder : ''
}

/** The folder that core.hooksPath names: a path inside the checkout, or an absolute one. Empty where it names none. */
export async function findConfiguredHooks(repository: Repository): Promise<string> {
  const args = ['config', '--type=path', '--get-all', 'core.hooksPath']
  const lines = (await repository.refs(args, { env: ownSettings() })).text().trimEnd().split('\n')
  // The last is our own, which keeps them from running here.
  const configured = lines.at(-2)
  return configured ? insideCheckout(repository, configured) : ''
}

function insideCheckout({ checkout }: Repository, path: string): string {
  const inside = isAbsolute(path) && checkout ? relative(checkout, path) : path
  return inside.startsWith('..') ? path : inside
}

/** Runs the hooks that come before a commit, in the sandbox and on the files of the worktree. */
export async function runCommitHooks(work: WorktreeWork, taskId: string, message: string): Promise<Hooked | undefined> {
  const { disk, sandbox, places } = work
  if (!sandbox) return undefined
  const place = gitFolderOf(sandbox.directory, taskId)
  const record = await readGitRecord(disk, place)
  if (!record?.hooks) return undefined
  const run = { gitDir: place.folder, worktree: places.worktree(taskId), readable: record.objects }
  const answer = await askSandbox(
    sandbox,
    { ...run, script, withHooks: true },
    { input: `${message.trim()}\n`, timeoutMs: PATIENCE_MS, maxBytes: 64 * 1024 },
  )
  if (answer.code !== 0)
    throw new MatrixError('COMMIT_REFUSED', `A commit hook of the project refused: ${answer.stderr || answer.code}`, {
      hint: 'Correct what the hook names, then commit again. In the shell, git commit --no-verify skips it.',
    })
  return { message: answer.stdout, output: answer.stderr }
}

const script = `
git add --all || exit 1
file=$GIT_DIR/COMMIT_EDITMSG
cat > "$file"
for hook in pre-commit prepare-commit-msg commit-msg; do
  case $hook in
    pre-commit) git hook run --ignore-missing $hook >&2 ;;
    prepare-commit-msg) git hook run --ignore-missing $hook -- "$file" message >&2 ;;
    commit-msg) git hook run --ignore-missing $hook -- "$file" >&2 ;;
  esac || { echo "($hook ended with exit code $?)" >&2; exit 1; }
done
cat "$file"
`
