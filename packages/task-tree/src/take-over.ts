import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { MatrixError, printable, printableLine } from '@matrix/protocol'
import type { Disk } from './disk.ts'
import { isMissing } from './durable-file.ts'
import type { Repository } from './repository.ts'
import { askSandbox, collect, type SandboxGit, type SandboxRun } from './sandbox-git.ts'

/** The most that one take-over brings, and the largest file in it: beyond this git itself stops comparing contents. */
const MAX_PACK_BYTES = 2 * 1024 ** 3
const MAX_FILE_BYTES = 512 * 1024 ** 2
/** Below this they are kept one by one, so that the user's repository does not fill with small packs. */
const FEW_OBJECTS = 100
const PATIENCE_MS = 10 * 60_000

export type Importing = { disk: Disk; repository: Repository; sandbox: SandboxGit; newId: () => string }

/**
 * Brings commits from an agent's git directory into the user's repository, as a server takes a push: git in the sandbox packs them,
 * and our own git checks every object before any of them is in reach. No ref moves here.
 */
export async function importCommits(
  work: Importing,
  from: Omit<SandboxRun, 'script'>,
  { tips, known }: { tips: readonly string[]; known: readonly string[] },
): Promise<void> {
  const { disk, repository, newId } = work
  const quarantine = join(repository.gitDir, 'objects', `${quarantineName}${newId()}`)
  const input = [...tips, ...known.map((id) => `^${id}`), ''].join('\n')
  await disk.makeDirectory(quarantine)
  try {
    await receivePack(work, from, { quarantine, input })
    await refuseLargeFiles(repository, quarantine)
    await checkConnected(repository, quarantine, tips)
    await migrate(work, quarantine)
  } catch (error) {
    throw (await nameLargeFile(work, from, input)) ?? error
  } finally {
    await disk.removeTree(quarantine)
  }
}

/** What take-overs that were killed have left. git's own tidying knows the name as well. */
export async function clearQuarantines(disk: Disk, { gitDir }: Repository): Promise<void> {
  const names = await disk.list(join(gitDir, 'objects'))
  for (const name of names.filter((each) => each.startsWith(quarantineName)))
    await disk.removeTree(join(gitDir, 'objects', name))
}

const quarantineName = 'tmp_objdir-mxd-'

const packing = 'exec git pack-objects --revs --stdout --delta-base-offset -q'

type Receiving = { quarantine: string; input: string }

async function receivePack(
  { repository, sandbox }: Importing,
  from: Omit<SandboxRun, 'script'>,
  { quarantine, input }: Receiving,
): Promise<void> {
  const packer = await sandbox.start({ ...from, script: packing })
  const clock = setTimeout(() => void packer.stop(0), PATIENCE_MS)
  const words = collect(packer.stderr, 4096)
  packer.stdin.end(input)
  try {
    const received = repository.files(['index-pack', '--strict', '--stdin', `--max-input-size=${MAX_PACK_BYTES}`], {
      input: packer.stdout,
      env: quarantined(repository, quarantine),
      timeoutMs: PATIENCE_MS,
    })
    const failure = await received.then(
      () => undefined,
      (error: unknown) => error,
    )
    if (failure !== undefined) await packer.stop(0)
    const { code } = await packer.exited
    // One that packs nothing useful is at fault itself; what the receiver says of it is only what follows.
    if (code !== 0 && code !== null)
      throw refused(printable((await words).trim()) || `git pack-objects ended with ${code}`)
    if (failure !== undefined) throw refused(reasonOf(failure), failure)
  } finally {
    clearTimeout(clock)
  }
}

async function refuseLargeFiles(repository: Repository, quarantine: string): Promise<void> {
  const args = ['cat-file', '--batch-all-objects', '--unordered', '--batch-check=%(objectsize) %(objectname)']
  const { text } = await repository.files(args, { env: { GIT_OBJECT_DIRECTORY: quarantine }, maxBytes: 1024 ** 3 })
  const large = text()
    .split('\n')
    .map((line) => line.split(' '))
    .find(([size]) => Number(size) > MAX_FILE_BYTES)
  if (large) throw tooLarge('a file', Number(large[0]))
}

const sizing = `git rev-list --objects --stdin | git cat-file --batch-check='%(objectsize) %(rest)' |
while read -r size path; do if [ "$size" -gt ${MAX_FILE_BYTES} ]; then printf '%s %s' "$size" "$path"; break; fi; done`

/** Objects have no names, and a pack that is too large is refused before its files are seen: the agent's git knows which it is. */
async function nameLargeFile(
  { sandbox }: Importing,
  from: Omit<SandboxRun, 'script'>,
  input: string,
): Promise<MatrixError | undefined> {
  const { stdout } = await askSandbox(sandbox, { ...from, script: sizing }, { input, maxBytes: 8192 })
  const [, size, path] = /^(\d+) (.+)$/s.exec(stdout) ?? []
  return path === undefined ? undefined : tooLarge(printableLine(path), Number(size))
}

function tooLarge(what: string, bytes: number): MatrixError {
  const [size, limit] = [bytes, MAX_FILE_BYTES].map((each) => Math.round(each / 1024 ** 2))
  return refused(`${what} has ${size} MB, and no file above ${limit} MB is taken over`)
}

/** Everything that the commits lead to is there, in the quarantine or in the repository. */
async function checkConnected(repository: Repository, quarantine: string, tips: readonly string[]): Promise<void> {
  const options = {
    env: quarantined(repository, quarantine),
    input: [...tips, ''].join('\n'),
    timeoutMs: PATIENCE_MS,
  }
  const { stdout } = await repository.files(['cat-file', '--batch-check=%(objecttype)'], options)
  if (
    Buffer.from(stdout)
      .toString('utf8')
      .split('\n')
      .some((type) => type !== '' && type !== 'commit')
  )
    throw refused('what the branch points to is no commit')
  const partial = repository.isPartial ? ['--exclude-promisor-objects'] : []
  const args = ['rev-list', '--objects', '--quiet', ...partial, '--stdin', '--not', '--all']
  await repository.refs(args, options).catch((error: unknown) => {
    throw refused(reasonOf(error), error)
  })
}

function quarantined({ gitDir }: Repository, quarantine: string): Record<string, string> {
  return { GIT_OBJECT_DIRECTORY: quarantine, GIT_ALTERNATE_OBJECT_DIRECTORIES: join(gitDir, 'objects') }
}

/** Everything was checked: now it becomes part of the repository. Only what nothing points to is there, should this be interrupted. */
async function migrate({ disk, repository }: Importing, quarantine: string): Promise<void> {
  const folder = join(quarantine, 'pack')
  const names = await disk.list(folder).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  const pack = names.find((name) => name.endsWith('.pack'))
  if (!pack) return
  if ((await countObjects(repository, join(folder, pack))) < FEW_OBJECTS) {
    await repository.files(['unpack-objects', '-q'], { input: createReadStream(join(folder, pack)) })
    return
  }
  const target = join(repository.gitDir, 'objects/pack')
  // git finds a pack by its index, so that one comes last.
  for (const name of names.toSorted((a, b) => Number(a.endsWith('.idx')) - Number(b.endsWith('.idx'))))
    await disk.rename(join(folder, name), join(target, name))
  await disk.syncDirectory(target)
}

async function countObjects(repository: Repository, pack: string): Promise<number> {
  const { text } = await repository.files(['show-index'], { input: createReadStream(pack.replace(/\.pack$/, '.idx')) })
  return text().split('\n').filter(Boolean).length
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function refused(why: string, cause?: unknown): MatrixError {
  return new MatrixError('COMMIT_REFUSED', `What was committed in the sandbox was not taken over: ${why}`, {
    cause,
  })
}
