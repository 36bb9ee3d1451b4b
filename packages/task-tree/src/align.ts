import type { Refs } from './git-folder.ts'
import { askSandbox, type SandboxGit, type SandboxRun, sandboxFailed } from './sandbox-git.ts'

export type Alignment = {
  branch: string
  /** The branch as the git directory has it, and as it is to have it. */
  from: string
  to: string
  /** Whether the branch is checked out there, so that the index follows it. */
  isCheckedOut: boolean
  /** A merge that was begun or ended. */
  merging: string
  message: string
  conflicts: readonly string[]
  wasMerging: string
  visible: Refs
  wereVisible: Refs
  hooks: string
  hadHooks: string
  excludes: string
  hadExcludes: string
}

/**
 * Brings an agent's git directory to where the user's repository is: the task's branch, the index, a merge in progress, and the
 * branches it can see. All of it happens in the sandbox, because a path in that directory may lead anywhere.
 * Answers whether the branch was still where it had been looked at.
 */
export async function alignFolder(
  sandbox: SandboxGit,
  place: Omit<SandboxRun, 'script'>,
  alignment: Alignment,
): Promise<boolean> {
  const { branch, from, to, isCheckedOut, merging, wasMerging, message, conflicts, hooks, hadHooks, excludes } =
    alignment
  const isExcluding = excludes !== alignment.hadExcludes
  const state = [branch, from, to, isCheckedOut ? 'yes' : '', merging, wasMerging, message, hooks, hadHooks]
  const args = [...state, ...(isExcluding ? [excludes] : [])]
  const input = [...visibleUpdates(alignment), '', ...conflicts].map((line) => `${line}\n`).join('')
  const answer = await askSandbox(sandbox, { ...place, script, args }, { input, timeoutMs: 3 * 60_000 })
  if (answer.code === MOVED) return false
  if (answer.code !== 0) throw sandboxFailed('follow the branch of the task', answer)
  return true
}

const MOVED = 3

/** A copy that the agent has changed stays as the agent wants it. */
function visibleUpdates({ visible, wereVisible }: Alignment): string[] {
  const changed = Object.entries(visible).filter(([ref, id]) => wereVisible[ref] !== id)
  const gone = Object.entries(wereVisible).filter(([ref]) => !(ref in visible))
  return [
    ...changed.map(([ref, id]) => `update ${ref} ${id} ${wereVisible[ref] ?? '0'.repeat(id.length)}`),
    ...gone.map(([ref, id]) => `delete ${ref} ${id}`),
  ]
}

// The index of a branch that has moved keeps what is staged, where that is possible. One that is damaged is made anew.
const script = `
branch=$1 from=$2 to=$3 isCheckedOut=$4 merging=$5 wasMerging=$6 message=$7 hooks=$8 hadHooks=$9
shift 9
[ $# -eq 0 ] || { mkdir -p "$GIT_DIR/info"; printf '%s' "$1" > "$GIT_DIR/info/exclude"; }
while IFS= read -r line && [ -n "$line" ]; do
  printf '%s\\n' "$line" | git update-ref --stdin 2>/dev/null
done
if [ "$from" != "$to" ]; then
  [ "$(git rev-parse --verify --quiet "refs/heads/$branch")" = "$from" ] || exit ${MOVED}
  git update-ref -m 'matrix: follow the branch of the task' "refs/heads/$branch" "$to" "$from" || exit 1
fi
if [ "$hooks" != "$hadHooks" ]; then
  if [ -n "$hooks" ]; then git config core.hooksPath "$hooks" || exit 1
  else git config --unset-all core.hooksPath; fi
fi
[ -n "$isCheckedOut" ] || exit 0
if [ "$from" != "$to" ] || [ "$merging" != "$wasMerging" ]; then
  rm -f "$GIT_DIR/index.lock"
  git read-tree -i -m "$from" "$to" 2>/dev/null || git read-tree --reset "$to" 2>/dev/null ||
    { rm -rf "$GIT_DIR/index"; git read-tree "$to" || exit 1; }
fi
if [ "$merging" != "$wasMerging" ]; then
  rm -f "$GIT_DIR/MERGE_HEAD" "$GIT_DIR/MERGE_MSG" "$GIT_DIR/MERGE_MODE" "$GIT_DIR/AUTO_MERGE"
  if [ -n "$merging" ]; then
    git read-tree -i -m --aggressive "$(git merge-base "$to" "$merging")" "$to" "$merging" || exit 1
    cat > "$GIT_DIR/matrix-conflicts"
    git ls-files --unmerged --full-name | cut -f2 | sort -u | grep -vxF -f "$GIT_DIR/matrix-conflicts" |
      while IFS= read -r path; do git update-index --add --remove -- "$path"; done
    rm -f "$GIT_DIR/matrix-conflicts"
    printf '%s\\n' "$message" > "$GIT_DIR/MERGE_MSG"
    : > "$GIT_DIR/MERGE_MODE"
    printf '%s\\n' "$merging" > "$GIT_DIR/MERGE_HEAD"
  fi
fi
git update-index -q --refresh >/dev/null 2>&1
exit 0
`
