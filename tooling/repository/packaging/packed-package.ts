import { join } from 'node:path'
import { readPackage, workspaceFolders } from '../../bootstrap/workspace.mjs'
import { root } from '../src/root.ts'
import { mustRun } from './command.ts'

/** A package as it would be published: what is in the tarball, not what is in the workspace. */
export type PackedPackage = {
  name: string
  tarball: string
  files: string[]
  /** Its package.json, read and as written. */
  manifest: PublishedManifest
  text: string
  entries: Entry[]
  commands: string[]
}

/** One way into a package: what a stranger writes after `import`, and the files that answer. */
type Entry = { specifier: string; file: string; types: string | undefined; isCode: boolean }

type PublishedManifest = {
  name: string
  version: string
  bin?: Record<string, string>
  exports?: Record<string, string | { types?: string; default?: string }>
}

/** Packs every package of the workspace that is not private. */
export async function packAll(destination: string): Promise<PackedPackage[]> {
  const folders = workspaceFolders(root).filter((folder) => !readPackage(root, folder).private)
  return Promise.all(folders.map((folder) => packPackage(folder, destination)))
}

async function packPackage(folder: string, destination: string): Promise<PackedPackage> {
  const pnpm = join(root, 'node_modules/pnpm/bin/pnpm.cjs')
  const args = [pnpm, 'pack', '--json', '--pack-destination', destination]
  const { filename: tarball } = JSON.parse(await mustRun(process.execPath, args, join(root, folder)))

  const listing = await mustRun('tar', ['-tzf', tarball], destination)
  const files = listing
    .trim()
    .split('\n')
    .map((file) => file.replace('package/', ''))
  const text = await mustRun('tar', ['-xzOf', tarball, 'package/package.json'], destination)
  const manifest: PublishedManifest = JSON.parse(text)
  const commands = Object.keys(manifest.bin ?? {})
  return {
    name: manifest.name,
    tarball,
    files,
    manifest,
    text,
    entries: findEntries(manifest, files),
    commands,
  }
}

/** What `exports` offers, with a `*` spelled out for each file it stands for. */
function findEntries({ name, exports = {} }: PublishedManifest, files: string[]): Entry[] {
  return Object.entries(exports).flatMap(([subpath, target]) => {
    const { types, default: file = '' } = typeof target === 'string' ? { default: target } : target
    const matches = file.includes('*') ? starsOf(file, files) : ['']
    return matches.map((star) => ({
      specifier: `${name}${subpath.slice(1).replace('*', star)}`,
      file: file.slice(2).replace('*', star),
      types: types?.slice(2).replace('*', star),
      isCode: !file.endsWith('.json'),
    }))
  })
}

function starsOf(pattern: string, files: string[]): string[] {
  const [before = '', after = ''] = pattern.slice(2).split('*')
  return files
    .filter((file) => file.startsWith(before) && file.endsWith(after))
    .map((file) => file.slice(before.length, file.length - after.length))
}
