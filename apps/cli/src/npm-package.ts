import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { digestBytes } from '@matrix/manifest'
import { MatrixError, printable } from '@matrix/protocol'

export type NpmPackage = { name: string; version: string; package_digest: string; integrity: string; bytes: number }

/** A published package as the registry serves it, fetched with the npm that is installed, hashed here. Nothing in it runs. */
export async function fetchNpmPackage(spec: string): Promise<NpmPackage> {
  // npm runs in an empty folder: a project's .npmrc or a local package of the same name must not answer for the registry.
  const folder = await mkdtemp(join(tmpdir(), 'matrix-pack-'))
  try {
    const { name, version } = await pack(spec, folder)
    const file = (await readdir(folder)).find((each) => each.endsWith('.tgz'))
    const bytes = await readFile(join(folder, file ?? ''))
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    return { name, version, package_digest: digestBytes(bytes), integrity, bytes: bytes.length }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function pack(spec: string, folder: string): Promise<{ name: string; version: string }> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--', spec]
  try {
    const { stdout } = await promisify(execFile)(npm, args, {
      cwd: folder,
      timeout: 120_000,
      maxBuffer: 16 * 1024 * 1024,
      shell: process.platform === 'win32',
    })
    const packed: unknown = JSON.parse(stdout)
    const [first] = Array.isArray(packed) ? packed : Object.values(packed as object)
    return first as { name: string; version: string }
  } catch (cause) {
    throw unavailable(spec, cause as NodeJS.ErrnoException & { stderr?: string })
  }
}

function unavailable(spec: string, cause: NodeJS.ErrnoException & { stderr?: string }): MatrixError {
  if (cause.code === 'ENOENT')
    return new MatrixError('PACKAGE_UNAVAILABLE', 'npm is not installed.', { hint: 'Install Node.js with npm.', cause })
  const reason = /(?:code|npm error code) (E\w+)/.exec(cause.stderr ?? '')?.[1]
  const words: Record<string, string> = {
    E404: 'no such package in the registry',
    ETARGET: 'no such version',
    ENOTFOUND: 'the registry cannot be reached',
    EAI_AGAIN: 'the registry cannot be reached',
  }
  return new MatrixError(
    'PACKAGE_UNAVAILABLE',
    `${spec} could not be fetched: ${words[reason ?? ''] ?? reason ?? printable(cause.message.split('\n')[0] ?? '')}.`,
    { cause },
  )
}
