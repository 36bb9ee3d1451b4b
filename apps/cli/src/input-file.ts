import { constants, type Dirent } from 'node:fs'
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { MAX_DOCUMENT_BYTES } from '@matrix/manifest/verify'
import { MatrixError } from '@matrix/protocol'

/** A file to look at. One that was only found in a directory, and not named, may turn out to be none of ours. */
export type InputPath = { path: string; isFound: boolean }

const skippedDirectories = new Set(['node_modules', '.git', 'dist', 'fixtures'])

/** Files as named, directories searched for JSON, TOML and skills, globs matched; in a stable order, each once. */
export async function findInputs(patterns: readonly string[]): Promise<InputPath[]> {
  const inputs = new Map<string, InputPath>()
  for (const pattern of patterns)
    for (const input of await expand(pattern)) if (!inputs.has(input.path)) inputs.set(input.path, input)
  return [...inputs.values()]
}

async function expand(pattern: string): Promise<InputPath[]> {
  if (pattern === '-') return [{ path: '-', isFound: false }]
  const found = await stat(pattern).catch(() => undefined)
  if (found?.isDirectory()) return searchDirectory(pattern, await realpath(pattern))
  if (found || !/[*?{}[\]!]/.test(pattern)) return [{ path: pattern, isFound: false }]

  const { glob } = await import('tinyglobby')
  const paths = (await glob(pattern, { dot: true, expandDirectories: false })).sort()
  if (paths.length === 0)
    throw new MatrixError('DOCUMENT_UNREADABLE', `Nothing matches ${pattern}.`, {
      hint: 'Check the pattern; quote it so that the shell leaves it alone.',
    })
  return paths.map((path) => ({ path, isFound: false }))
}

async function searchDirectory(directory: string, root: string): Promise<InputPath[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((cause) => {
    throw unreadable(directory, cause)
  })
  const sorted = entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const nested = await Promise.all(sorted.map((entry) => searchEntry(directory, entry, root)))
  return nested.flat()
}

async function searchEntry(directory: string, entry: Dirent, root: string): Promise<InputPath[]> {
  const path = join(directory, entry.name)
  if (entry.isDirectory()) return skippedDirectories.has(entry.name) ? [] : searchDirectory(path, root)
  const isFile = entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(path, root)))
  return isFile && (/\.(?:jsonc?|toml|mtx)$/.test(entry.name) || isMarkdownOfOurs(path))
    ? [{ path, isFound: true }]
    : []
}

/** Skills, and agents where other programs keep theirs; other Markdown is for people. */
export function isMarkdownOfOurs(path: string): boolean {
  return /(?:^|[/\\])SKILL\.md$|(?:^|[/\\])\.\w+[/\\]agents?[/\\][^/\\]+\.md$/.test(path)
}

/** A directory might lead round in circles, and a file outside of the searched one is no part of what was asked for. */
async function leadsToFile(link: string, root: string): Promise<boolean> {
  const target = await realpath(link).catch(() => undefined)
  if (target === undefined || !target.startsWith(root.endsWith(sep) ? root : root + sep)) return false
  return (await stat(target).catch(() => undefined))?.isFile() ?? false
}

/** The bytes of a regular file of sane size, or an error that says why not; never waits on a pipe or device. */
export async function readInput(path: string, limit = MAX_DOCUMENT_BYTES): Promise<Buffer> {
  if (path === '-') return readStandardInput(limit)
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause) => {
    throw unreadable(path, cause)
  })
  try {
    await assertReadable(path, handle, limit)
    return await readBounded(path, handle, limit)
  } catch (cause) {
    throw cause instanceof MatrixError ? cause : unreadable(path, cause as NodeJS.ErrnoException)
  } finally {
    await handle.close()
  }
}

async function assertReadable(path: string, handle: FileHandle, limit: number): Promise<void> {
  const found = await handle.stat()
  if (found.isDirectory()) throw new MatrixError('DOCUMENT_UNREADABLE', `${path} is a directory.`)
  if (!found.isFile()) throw new MatrixError('DOCUMENT_UNREADABLE', `${path} is not a regular file.`)
  if (found.size > limit) throw tooLarge(path, found.size, limit)
}

/** What a file says of its size is not to be relied on: some are of size 0 and never end. */
async function readBounded(path: string, handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of handle.createReadStream({ autoClose: false, end: limit }) as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
  }
  if (size > limit) throw tooLarge(path, size, limit)
  return Buffer.concat(chunks)
}

async function readStandardInput(limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin) {
    size += chunk.length
    if (size > limit) throw tooLarge('Standard input', size, limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(path: string, size: number, limit: number): MatrixError {
  return new MatrixError('DOCUMENT_TOO_LARGE', `${path} has ${size} bytes or more; at most ${limit} are read.`, {
    ...(limit !== MAX_DOCUMENT_BYTES && { hint: 'Give less at once, or name a smaller file.' }),
  })
}

const reasons: Record<string, string> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by you',
  EPERM: 'may not be read by you',
  ENOTDIR: 'does not exist',
  ELOOP: 'is a symbolic link that leads back to itself',
  ENXIO: 'is not a regular file',
  ENAMETOOLONG: 'has a name that is too long',
}

function unreadable(path: string, cause: NodeJS.ErrnoException): MatrixError {
  return new MatrixError(
    'DOCUMENT_UNREADABLE',
    `${path} ${reasons[cause.code ?? ''] ?? `cannot be read (${cause.code ?? cause.message})`}.`,
    { cause },
  )
}
