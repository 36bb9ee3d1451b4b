import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** What the files of an agent's git directory say. Nothing of it is trusted: each is read as text, bounded, through no link. */
export type GitFolderState = {
  /** The branch that is checked out; null for a commit without one, undefined where HEAD says nothing sensible. */
  head: string | null | undefined
  /** The commit of the task's branch, if the directory names one. */
  tip: string | undefined
}

const oid = /^[0-9a-f]{40}([0-9a-f]{24})?$/
const manyRefs = 32 * 1024 * 1024

/** Two small files, read at once: this is asked after every call of a tool. */
export function readGitFolder(folder: string, branch: string): GitFolderState {
  return { head: readHead(folder), tip: readTip(folder, branch) }
}

/** What is being merged in the directory, or nothing. */
export function readMergeHead(folder: string): string {
  const text = readPlain(join(folder, 'MERGE_HEAD'), 4096)?.trim() ?? ''
  return text.split('\n').every((line) => oid.test(line)) ? text : ''
}

const states = [
  ['rebase-merge', 'rebase', 'git rebase --continue or git rebase --abort'],
  ['rebase-apply', 'rebase', 'git rebase --continue or git rebase --abort'],
  ['CHERRY_PICK_HEAD', 'cherry-pick', 'git cherry-pick --continue or git cherry-pick --abort'],
  ['REVERT_HEAD', 'revert', 'git revert --continue or git revert --abort'],
  ['BISECT_LOG', 'bisect', 'git bisect reset'],
  ['MERGE_HEAD', 'merge', 'git commit or git merge --abort'],
] as const

export type Unfinished = { what: string; howToEnd: string }

/** What git was told to do there and has not ended. A merge that Matrix itself began is none. */
export function findUnfinished(folder: string, merging: string): Unfinished | undefined {
  for (const [name, what, howToEnd] of states) {
    if (lstatSync(join(folder, name), { throwIfNoEntry: false }) === undefined) continue
    if (name === 'MERGE_HEAD' && readMergeHead(folder) === merging) continue
    return { what, howToEnd }
  }
  return undefined
}

function readHead(folder: string): string | null | undefined {
  const text = readPlain(join(folder, 'HEAD'), 4096)?.trim() ?? ''
  if (oid.test(text)) return null
  return /^ref: refs\/heads\/([^\p{Cc}\s]+)$/u.exec(text)?.[1]
}

function readTip(folder: string, branch: string): string | undefined {
  const loose = readPlain(join(folder, 'refs/heads', branch), 4096)
  const text = loose?.trim() ?? readPacked(folder, `refs/heads/${branch}`)
  return text !== undefined && oid.test(text) ? text : undefined
}

function readPacked(folder: string, ref: string): string | undefined {
  const packed = readPlain(join(folder, 'packed-refs'), manyRefs)
  const end = packed?.indexOf(` ${ref}\n`) ?? -1
  return end === -1 ? undefined : packed?.slice(packed.lastIndexOf('\n', end) + 1, end)
}

/** A regular file of reasonable size, or nothing. A FIFO is not waited for. */
function readPlain(path: string, maxBytes: number): string | undefined {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const { size } = fstatSync(file)
    if (!fstatSync(file).isFile() || size > maxBytes) return undefined
    const bytes = Buffer.alloc(size)
    return bytes.subarray(0, readSync(file, bytes, 0, size, 0)).toString('utf8')
  } catch {
    return undefined
  } finally {
    closeSync(file)
  }
}
