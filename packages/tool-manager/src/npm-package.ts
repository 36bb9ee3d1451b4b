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
export async function fetchNpmPackage(spec: string, signal?: AbortSignal): Promise<NpmPackage> {
  const folder = await mkdtemp(join(tmpdir(), 'matrix-pack-'))
  try {
    const { file: _gone, ...found } = await packNpmPackage(spec, folder, signal)
    return found
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * The same, and the file stays. npm runs in that folder, which must be empty: a project's .npmrc or a local package of
 * the same name must not answer for the registry. npm itself holds the bytes against the sha512 that the registry states.
 */
export async function packNpmPackage(
  spec: string,
  folder: string,
  signal?: AbortSignal,
): Promise<NpmPackage & { file: string }> {
  const stdout = await runNpm(['pack', '--json', '--', spec], { folder, what: spec, signal })
  const packed: unknown = JSON.parse(stdout)
  const [first] = Array.isArray(packed) ? packed : Object.values(packed as object)
  const { name, version } = first as { name: string; version: string }
  const file = join(folder, (await readdir(folder)).find((each) => each.endsWith('.tgz')) ?? '')
  const bytes = await readFile(file)
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  return { name, version, package_digest: digestBytes(bytes), integrity, bytes: bytes.length, file }
}

/**
 * Installs what the folder's package.json names, without running any script of any package: exactly what its lock file
 * says if it has one, else what the registry offers today, and then it has one.
 */
export async function installNpmPackages(
  folder: string,
  { what, isLocked, signal }: { what: string; isLocked: boolean; signal?: AbortSignal | undefined },
): Promise<void> {
  const flags = ['--omit=dev', '--package-lock=true', '--no-audit', '--no-fund', '--install-strategy=hoisted']
  await runNpm([isLocked ? 'ci' : 'install', ...flags], { folder, what, signal, timeoutMs: 600_000 })
}

type NpmRun = { folder: string; what: string; signal?: AbortSignal | undefined; timeoutMs?: number }

async function runNpm(args: string[], { folder, what, signal, timeoutMs = 120_000 }: NpmRun): Promise<string> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const [command = '', ...rest] = args
  try {
    const { stdout } = await promisify(execFile)(npm, [command, '--ignore-scripts', '--loglevel=error', ...rest], {
      cwd: folder,
      timeout: timeoutMs,
      maxBuffer: 16 * 1024 * 1024,
      shell: process.platform === 'win32',
      ...(signal && { signal }),
    })
    return stdout
  } catch (cause) {
    if (signal?.aborted) throw new MatrixError('TOOL_CANCELLED', `${what} is not fetched any more.`, { cause })
    throw unavailable(what, cause as NodeJS.ErrnoException & { stderr?: string })
  }
}

function unavailable(what: string, cause: NodeJS.ErrnoException & { stderr?: string }): MatrixError {
  if (cause.code === 'ENOENT')
    return new MatrixError('PACKAGE_UNAVAILABLE', 'npm is not installed.', { hint: 'Install Node.js with npm.', cause })
  const reason = /(?:code|npm error code) (E\w+)/.exec(cause.stderr ?? '')?.[1]
  const words: Record<string, string> = {
    E404: 'no such package in the registry',
    ETARGET: 'no such version',
    ENOTFOUND: 'the registry cannot be reached',
    EAI_AGAIN: 'the registry cannot be reached',
    ECONNREFUSED: 'the registry cannot be reached',
  }
  return new MatrixError(
    'PACKAGE_UNAVAILABLE',
    `${what} could not be fetched: ${words[reason ?? ''] ?? reason ?? printable(cause.message.split('\n')[0] ?? '')}.`,
    { cause },
  )
}
