import { type FlaggedFile, findFlagged } from './flagged-files.ts'
import { type Hunk, parsePatch } from './hunks.ts'
import { checkOid, type Repository } from './repository.ts'

export type FileChange = {
  path: string
  /** Where a renamed file was before. */
  oldPath?: string
  status: 'added' | 'modified' | 'deleted' | 'renamed' | 'retyped'
  /** Nothing for binary files and submodules. */
  additions: number | null
  deletions: number | null
  isBinary: boolean
  isSubmodule: boolean
  /** Only when asked for. */
  hunks?: Hunk[]
}

export type BranchChanges = {
  base: string
  head: string
  /** Where the two parted; nothing when they have no common past. */
  mergeBase: string | null
  /** Commits that only the branch has, and that only the base has. */
  ahead: number
  behind: number
  files: FileChange[]
  additions: number
  deletions: number
  /** Files that a merge could not settle by itself; empty when it would be clean. */
  conflicts: string[]
  /** Files that run by themselves, of everything that a merge would bring, whichever files were asked for. */
  flagged: FlaggedFile[]
  /** Set when the hunks were too much to read; the list of files is always complete. */
  isTruncated: boolean
}

export type ChangesOptions = {
  branch: string
  baseBranch: string
  withHunks?: boolean
  /** Only these files, by their exact paths. */
  paths?: readonly string[]
  /** Only what came after this commit of the branch. Where it is not known any more, everything. */
  since?: string
  /** Leaves out files and lines that differ in white space alone. */
  ignoreWhitespace?: boolean
  maxPatchBytes?: number
  signal?: AbortSignal
}

/** What a branch would bring to its base. Looks at commits only: no checkout, no index, no working file. */
export async function readChanges(repository: Repository, options: ChangesOptions): Promise<BranchChanges> {
  const base = await repository.getBranch(options.baseBranch)
  const head = await repository.getBranch(options.branch)
  const mergeBase = await findMergeBase(repository, base, head)
  const from = (await findCommit(repository, options.since)) ?? mergeBase ?? base
  const [counts, files, merge] = await Promise.all([
    countCommits(repository, base, head),
    listFiles(repository, from, head, options),
    tryMerge(repository, base, head),
  ])
  const isClean = merge.conflicts.length === 0
  const flagged = await (isClean
    ? findFlagged(repository, base, merge.tree)
    : findFlagged(repository, mergeBase ?? base, head))
  const isTruncated = options.withHunks ? await addHunks(repository, from, head, files, options) : false
  return {
    base,
    head,
    mergeBase,
    ...counts,
    files,
    additions: files.reduce((sum, file) => sum + (file.additions ?? 0), 0),
    deletions: files.reduce((sum, file) => sum + (file.deletions ?? 0), 0),
    conflicts: merge.conflicts,
    flagged,
    isTruncated,
  }
}

/** Merges two commits in memory. The tree is of use only when nothing conflicts. */
export async function tryMerge(
  repository: Repository,
  base: string,
  head: string,
): Promise<{ tree: string; conflicts: string[] }> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', '--allow-unrelated-histories']
  const { text } = await repository.files([...args, '--end-of-options', base, head], { codes: [0, 1] })
  const [tree = '', ...conflicts] = text().split('\0')
  return { tree: checkOid(tree), conflicts: conflicts.filter((path) => path.trim() !== '') }
}

export async function findMergeBase(repository: Repository, base: string, head: string): Promise<string | null> {
  const args = ['merge-base', '--end-of-options', base, head]
  const { code, text } = await repository.files(args, { codes: [0, 1] })
  return code === 0 ? checkOid(text()) : null
}

async function findCommit(repository: Repository, commit: string | undefined): Promise<string | undefined> {
  if (commit === undefined || !/^[0-9a-f]{40,64}$/.test(commit)) return undefined
  const args = ['cat-file', '-e', '--end-of-options', `${commit}^{commit}`]
  const { code } = await repository.files(args, { codes: [0, 1, 128] })
  return code === 0 ? commit : undefined
}

async function countCommits(
  repository: Repository,
  base: string,
  head: string,
): Promise<{ ahead: number; behind: number }> {
  const args = ['rev-list', '--left-right', '--count', '--end-of-options', `${base}...${head}`]
  const [behind, ahead] = (await repository.files(args)).text().trim().split('\t').map(Number)
  return { ahead: ahead ?? 0, behind: behind ?? 0 }
}

// No program that a repository could name takes part in a comparison.
const comparison = ['diff-tree', '-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=none']

export async function listFiles(
  repository: Repository,
  from: string,
  to: string,
  { paths = [], ignoreWhitespace = false }: Pick<ChangesOptions, 'paths' | 'ignoreWhitespace'> = {},
): Promise<FileChange[]> {
  const range = ['--end-of-options', from, to, '--', ...paths]
  const [raw, counts] = await Promise.all([
    repository.files([...comparison, '-z', '--raw', '--full-index', ...range]),
    repository.files([...comparison, ...spaces(ignoreWhitespace), '-z', '--numstat', ...range]),
  ])
  const lines = parseNumstat(counts.text())
  const files = parseRaw(raw.text()).map((file) => ({ ...file, ...lines.get(file.path) }))
  // What differs in white space alone is counted by nobody, and has no part in the patch.
  return ignoreWhitespace ? files.filter(({ path }) => lines.has(path)) : files
}

function spaces(ignoreWhitespace: boolean): string[] {
  return ignoreWhitespace ? ['--ignore-all-space'] : []
}

const statuses: Record<string, FileChange['status']> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  T: 'retyped',
}

function parseRaw(text: string): FileChange[] {
  const fields = text.split('\0')
  const files: FileChange[] = []
  for (let at = 0; at + 1 < fields.length; ) {
    const [oldMode = '', newMode, , , status = ''] = (fields[at] ?? '').split(' ')
    const isRename = status.startsWith('R')
    const path = fields[at + (isRename ? 2 : 1)] ?? ''
    files.push({
      path,
      ...(isRename && { oldPath: fields[at + 1] ?? '' }),
      status: statuses[status[0] ?? ''] ?? 'modified',
      additions: null,
      deletions: null,
      isBinary: false,
      isSubmodule: newMode === '160000' || oldMode === ':160000',
    })
    at += isRename ? 3 : 2
  }
  return files
}

function parseNumstat(text: string): Map<string, Pick<FileChange, 'additions' | 'deletions' | 'isBinary'>> {
  const fields = text.split('\0')
  const counts = new Map<string, Pick<FileChange, 'additions' | 'deletions' | 'isBinary'>>()
  for (let at = 0; at + 1 < fields.length; ) {
    const [additions = '', deletions = '', ...rest] = (fields[at] ?? '').split('\t')
    const inline = rest.join('\t')
    const path = inline === '' ? (fields[at + 2] ?? '') : inline
    const isBinary = additions === '-'
    counts.set(path, {
      isBinary,
      additions: isBinary ? null : Number(additions),
      deletions: isBinary ? null : Number(deletions),
    })
    at += inline === '' ? 3 : 1
  }
  return counts
}

/** Puts the hunks on the files. A patch lists its files in the same order as the comparison does. */
async function addHunks(
  repository: Repository,
  from: string,
  to: string,
  files: FileChange[],
  { paths = [], ignoreWhitespace = false, maxPatchBytes = 8 * 1024 * 1024, signal }: ChangesOptions,
): Promise<boolean> {
  const range = ['--end-of-options', from, to, '--', ...paths]
  const { text, truncated } = await repository.files(
    [...comparison, ...spaces(ignoreWhitespace), '-p', '-U3', ...range],
    {
      maxBytes: maxPatchBytes,
      mayCut: true,
      signal,
    },
  )
  const parts = parsePatch(text())
  // The last part may have been cut in the middle.
  if (truncated) parts.pop()
  for (const file of files) {
    // A file that became a link, or the reverse, is shown as one that goes and one that comes.
    const hunks = file.status === 'retyped' ? [...(parts.shift() ?? []), ...(parts.shift() ?? [])] : parts.shift()
    if (hunks) file.hunks = hunks
  }
  return truncated
}
