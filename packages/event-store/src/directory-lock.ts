import { existsSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { hasErrorCode, nodeFileSystem } from './file-system.ts'
import { storageError } from './session-writer.ts'
import { loadSqlite } from './sqlite.ts'

/** Who holds a data directory, for people to read. Only the kernel's lock decides. */
export type LockHolder = { pid: number; host: string; since: string; note?: string }

export type DirectoryLock = { release(): Promise<void> }

/**
 * Makes this process the only one that works in a data directory. The kernel frees the lock however the process ends; a
 * second process is told who holds it. Network file systems are refused, because locks and syncs mean little there.
 */
export async function lockDirectory(
  directory: string,
  {
    note,
    findNetwork = nodeFileSystem.findNetwork,
  }: { note?: string; findNetwork?(path: string): Promise<string | undefined> } = {},
): Promise<DirectoryLock> {
  await nodeFileSystem.makeDirectory(directory).catch((error) => {
    throw storageError(`Cannot use ${directory}`, error)
  })
  const network = await findNetwork(directory)
  if (network)
    throw new MatrixError(
      'STORAGE_NETWORK',
      `${directory} is on a network file system (${network}), which can lose sessions.`,
    )

  const release = await takeLock(directory)
  const holderFile = join(directory, 'lock.json')
  const holder: LockHolder = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    ...(note ? { note } : {}),
  }
  await writeHolder(holderFile, holder).catch((error) => {
    release()
    throw storageError(`Cannot write ${holderFile}`, error)
  })
  return {
    async release() {
      await rm(holderFile, { force: true })
      release()
    },
  }
}

/** Who holds a data directory, if somebody does. What a killed process left behind does not count: the kernel has freed its lock. */
export async function findHolder(directory: string): Promise<LockHolder | undefined> {
  return (await isLocked(join(directory, 'lock.db'))) ? readHolder(directory) : undefined
}

async function isLocked(file: string): Promise<boolean> {
  if (!existsSync(file)) return false
  const Database = await loadSqlite()
  let database: InstanceType<typeof Database> | undefined
  try {
    database = new Database(file, { timeout: 0 })
    database.pragma('schema_version')
    return false
  } catch (error) {
    if (hasErrorCode(error, 'SQLITE_BUSY')) return true
    throw storageError(`Cannot look at ${file}`, error)
  } finally {
    database?.close()
  }
}

/** SQLite's exclusive mode is a kernel lock on the file, kept until the connection or the process is gone. */
async function takeLock(directory: string): Promise<() => void> {
  const Database = await loadSqlite()
  const file = join(directory, 'lock.db')
  let database: InstanceType<typeof Database> | undefined
  try {
    // Whoever only looks who holds it is in the way for a moment.
    database = new Database(file, { timeout: 1000 })
    database.pragma('locking_mode = EXCLUSIVE')
    database.pragma('synchronous = OFF')
    database.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS holder (pid INTEGER); COMMIT')
  } catch (error) {
    database?.close()
    if (hasErrorCode(error, 'SQLITE_BUSY')) throw new MatrixError('STORAGE_LOCKED', await describeHolder(directory))
    throw storageError(`Cannot lock ${file}`, error)
  }
  const held = database
  return () => held.close()
}

async function writeHolder(file: string, holder: LockHolder): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(holder)}\n`)
  await rename(`${file}.new`, file)
}

async function describeHolder(directory: string): Promise<string> {
  const holder = await readHolder(directory)
  if (!holder) return `${directory} is in use by another process.`
  const { pid, host, since, note } = holder
  return `${directory} is in use by process ${pid} on ${host} since ${since}${note ? ` (${note})` : ''}.`
}

async function readHolder(directory: string): Promise<LockHolder | undefined> {
  const text = await readFile(join(directory, 'lock.json'), 'utf8').catch(() => undefined)
  return text ? (JSON.parse(text) as LockHolder) : undefined
}
