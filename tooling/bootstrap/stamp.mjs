import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { workspaceFolders } from './workspace.mjs'

const stampFile = 'node_modules/.matrix-stamp'

/**
 * Whether the last install is still the right one, so that it can be skipped without asking pnpm.
 * @param {string} root
 */
export function isInstalled(root) {
  if (!existsSync(join(root, stampFile))) return false
  if (!workspaceFolders(root).every((folder) => existsSync(join(root, folder, 'node_modules')))) return false

  return readFileSync(join(root, stampFile), 'utf8') === computeStamp(root)
}

/** @param {string} root */
export function writeStamp(root) {
  writeFileSync(join(root, stampFile), computeStamp(root))
}

/** @param {string} root */
function computeStamp(root) {
  const hash = createHash('sha256')
  const manifests = ['.', ...workspaceFolders(root)].map((folder) => `${folder}/package.json`)
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests])
    hash.update(`${file}\0`).update(readFileSync(join(root, file)))

  // Native modules are built for one Node ABI on one platform.
  hash.update(`${process.platform} ${process.arch} ${process.versions.modules}`)
  return `${hash.digest('hex')} ${lastInstall(root)}\n`
}

/**
 * pnpm rewrites this file on every install: one that was run by hand in between may have put something else here.
 * @param {string} root
 */
function lastInstall(root) {
  const file = join(root, 'node_modules/.modules.yaml')
  return existsSync(file) ? statSync(file).mtimeMs : 0
}
