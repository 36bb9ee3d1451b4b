import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { digestBytes } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { findForeignSpec, refuseDependency } from './npm-lock-file.ts'
import { type NpmRun, runNpm } from './npm-run.ts'

export type NpmPackage = { name: string; version: string; package_digest: string; integrity: string; bytes: number }

type Run = Omit<NpmRun, 'what'>

/**
 * A published package as the registry serves it, hashed here; its file stays in the folder, which must be empty. npm itself
 * holds the bytes against the sha512 that the registry states. Nothing in the package runs.
 */
export async function packNpmPackage(spec: string, run: Run): Promise<NpmPackage & { file: string }> {
  const foreign = findForeignSpec(spec)
  if (foreign) throw refuseDependency(`${spec} names ${foreign}`)
  const stdout = await runNpm(['pack', '--json', '--', spec], { ...run, what: spec })
  const packed: unknown = JSON.parse(stdout)
  const [first] = Array.isArray(packed) ? packed : Object.values(packed as object)
  const { name, version } = first as { name: string; version: string }
  const file = join(run.folder, (await readdir(run.folder)).find((each) => each.endsWith('.tgz')) ?? '')
  const bytes = await readOwn(file)
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  return { name, version, package_digest: digestBytes(bytes), integrity, bytes: bytes.length, file }
}

/** Writes the folder's lock file with what the registry offers today. Nothing is installed yet. */
export async function resolveNpmPackages(what: string, run: Run): Promise<void> {
  await runNpm(['install', '--package-lock-only', ...flags], { ...run, what, timeoutMs: 600_000 })
}

/** Installs exactly what the folder's lock file says, without running any script of any package. */
export async function installNpmPackages(what: string, run: Run): Promise<void> {
  await runNpm(['ci', ...flags], { ...run, what, timeoutMs: 600_000 })
}

const flags = ['--omit=dev', '--package-lock=true', '--no-audit', '--no-fund', '--install-strategy=hoisted']

/** What npm wrote in its sandbox, and never what a link in its place leads to. */
export async function readOwn(file: string): Promise<Buffer> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if ((await handle.stat()).isFile()) return await handle.readFile()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    throw new MatrixError('PACKAGE_UNAVAILABLE', `npm left no ${file}.`, { cause })
  }
  throw new MatrixError('PACKAGE_UNAVAILABLE', `${file} is not a regular file.`)
}
