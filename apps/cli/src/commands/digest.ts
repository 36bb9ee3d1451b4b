import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  detectFormat,
  digestBytes,
  isExactVersion,
  manifestDigest,
  parseDocument,
  parsePackageSpec,
} from '@matrix/manifest'
import { MatrixError, printableLine } from '@matrix/protocol'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { readInput } from '../input-file.ts'
import { print, printError, printJson } from '../terminal.ts'

const MAX_PACKAGE_BYTES = 1024 ** 3

/** The digest of what a manifest would pin: a published package, or a file of this machine. */
export async function digest(target: string, { json }: { json?: boolean }): Promise<ExitCode> {
  const facts = existsSync(target) || /^[./~]/.test(target) ? await digestFile(target) : await digestPackage(target)
  if (json) printJson(facts)
  else
    print(
      Object.entries(facts)
        .map(([name, value]) => `${name.padEnd(15)} ${printableLine(String(value))}`)
        .join('\n'),
    )
  return exitCode.ok
}

async function digestFile(path: string): Promise<Record<string, unknown>> {
  const bytes = await readInput(path, MAX_PACKAGE_BYTES)
  const content = /^\s*\{/.test(bytes.toString('latin1', 0, 1000)) ? contentAddress(bytes) : undefined
  return {
    file: path,
    package_digest: digestBytes(bytes),
    bytes: bytes.length,
    ...(content && { content_address: content }),
  }
}

/** Of a manifest or lock, what it is called by: the same however it is spaced or ordered. */
function contentAddress(bytes: Uint8Array): string | undefined {
  const { value } = parseDocument(bytes)
  try {
    return detectFormat(value) === undefined ? undefined : manifestDigest(value)
  } catch (error) {
    // The bytes have a digest also where the content has none, such as half a character.
    if (error instanceof MatrixError) return undefined
    throw error
  }
}

async function digestPackage(spec: string): Promise<Record<string, unknown>> {
  const { name, version } = parsePackageSpec('npm', spec)
  if (!/^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/i.test(name) || name.startsWith('-'))
    throw new MatrixError('DOCUMENT_UNREADABLE', `${spec} is neither a file nor the name of an npm package.`, {
      hint: 'Give name@version or the path of a file.',
    })
  if (version !== undefined && !isExactVersion(version) && !/^[\w.^~<>=*-]+$/.test(version))
    throw new MatrixError('DOCUMENT_UNREADABLE', `${spec} does not name a version of a published package.`, {
      hint: 'Give name@version, such as name@1.2.3.',
    })

  const { openPackageStore, openSandbox } = await import('@matrix/tool-manager')
  printError(`fetching ${spec} from the npm registry`)
  // Looking up a published package runs nothing of it, so where there can be no sandbox it is done without one.
  const sandbox = await openSandbox({ mode: 'auto', unboxedAgreed: true })
  const found = await openPackageStore(join(dataFolder(), 'packages'), { sandbox }).lookUp(spec)
  return {
    package: `${found.name}@${found.version}`,
    package_digest: found.package_digest,
    integrity: found.integrity,
    bytes: found.bytes,
  }
}
