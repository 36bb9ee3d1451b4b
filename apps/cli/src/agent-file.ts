import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import {
  checkLock,
  checkManifest,
  detectFormat,
  type Lock,
  type Manifest,
  type Policy,
  parseDocument,
  rules,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { LockFiles } from '@matrix/tool-manager'
import { readInput } from './input-file.ts'

/** An agent that can run: its manifest, and the lock of it where there is one. */
export type AgentFile = {
  manifest: Manifest
  lock: Lock | undefined
  policy: Policy | undefined
  /** Where relative files of the manifest start. */
  base: string
  /** What was kept beside the lock, so that the same dependencies can be fetched again. */
  lockFiles: LockFiles | undefined
  /** The way to the list of servers in the file itself. */
  serversPath: string[]
}

/** Where the lock of a manifest lies: beside it, `agent.lock.json` for `agent.json`. */
export function lockPathOf(path: string): string {
  return `${path.replace(/(?:\.lock)?\.json$/, '')}.lock.json`
}

/** Where the lock files of the packages lie that a lock pins: beside it. */
export function lockFilesPathOf(lockPath: string): string {
  return `${lockPath.replace(/\.json$/, '')}.dependencies.json`
}

async function readLockFiles(lockPath: string): Promise<LockFiles | undefined> {
  const path = lockFilesPathOf(lockPath)
  if (!existsSync(path)) return undefined
  return JSON.parse((await readInput(path, MAX_LOCK_FILES_BYTES)).toString('utf8')) as LockFiles
}

const MAX_LOCK_FILES_BYTES = 64 << 20

/** Reads a manifest together with the lock beside it, or a lock by itself. */
export async function readAgentFile(path: string, bytes?: Uint8Array): Promise<AgentFile> {
  const { value } = parseDocument(bytes ?? (await readInput(path)))
  const base = path === '-' ? process.cwd() : dirname(resolve(path))
  if (detectFormat(value) === 'lock')
    return { ...lockedAgent(requireLock(value, path), base), lockFiles: await readLockFiles(path) }
  const { manifest } = checkManifest(value)
  if (!manifest)
    throw new MatrixError('DOCUMENT_INVALID', `${path} is not a manifest that can be run.`, {
      hint: `Run matrix verify --offline ${path} to see why; other formats are turned into one with matrix lock.`,
    })
  const beside = lockPathOf(path)
  if (path === '-' || !existsSync(beside))
    return { manifest, lock: undefined, policy: undefined, lockFiles: undefined, base, serversPath: ['servers'] }
  const lock = requireLock(parseDocument(await readInput(beside)).value, beside)
  return { manifest, lock, policy: lock.policy, lockFiles: await readLockFiles(beside), base, serversPath: ['servers'] }
}

function lockedAgent(lock: Lock, base: string): Omit<AgentFile, 'lockFiles'> {
  return { manifest: lock.manifest, lock, policy: lock.policy, base, serversPath: ['manifest', 'servers'] }
}

function requireLock(value: unknown, path: string): Lock {
  const { lock, problems } = checkLock(value)
  const error = problems.find(({ rule, severity = rules[rule].severity }) => severity === 'error')
  if (lock && !error) return lock
  throw new MatrixError('DOCUMENT_INVALID', `${path} is not a sound lock. ${error?.message ?? ''}`, {
    hint: 'Run matrix lock again; a lock is not edited by hand.',
  })
}
