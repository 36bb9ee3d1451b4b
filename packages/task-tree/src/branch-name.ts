import { MatrixError, printableLine, TaskId } from '@matrix/protocol'

/** `mxd/<taskId>/<slug>`: where a task's work goes. */
export function taskBranch(taskId: string, title: string): string {
  return `mxd/${checkTaskId(taskId)}/${slugify(title)}`
}

/** A title as a piece of a branch name: plain lower-case words, never empty, never long. */
export function slugify(title: string): string {
  const plain = title.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const words = plain.replace(/[^a-z0-9]+/g, '-').slice(0, 40)
  return words.replace(/^-+|-+$/g, '') || 'task'
}

// The rules of git check-ref-format, and none of the shorthands (`@{-1}`, `HEAD`) that stand for another branch.
const forbidden = /[\p{Cc}\p{Cs} ~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$|(^|\/)\.|\.lock(\/|$)/u

/** Gives the name back if it names a branch and cannot be taken for an option, a path or an expression. */
export function checkBranchName(name: string): string {
  const isPlain = name !== '' && name.length <= 200 && name !== '@' && name !== 'HEAD' && !forbidden.test(name)
  if (isPlain) return name
  throw new MatrixError('GIT_NAME_INVALID', `Not a branch name: ${printableLine(name.slice(0, 60)) || 'empty'}`)
}

/** Task ids become folder and branch names here, so nothing but a ULID passes. */
export function checkTaskId(taskId: string): string {
  if (TaskId.safeParse(taskId).success) return taskId
  throw new MatrixError('TASK_ID_MALFORMED', `Not a task id: ${printableLine(String(taskId).slice(0, 40)) || 'empty'}`)
}
