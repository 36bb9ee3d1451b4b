import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { MatrixError, printableLine } from '@matrix/protocol'
import * as z from 'zod'
import { diffTrees, type FileTree, scanTree, treeDigest } from './file-tree.ts'
import {
  assertFromRegistry,
  dependenciesDigest,
  type NpmLockFile,
  PACKED_FILE,
  parseNpmLockFile,
  withoutAddresses,
} from './npm-lock-file.ts'
import { installNpmPackages, type NpmPackage, packNpmPackage, readOwn, resolveNpmPackages } from './npm-package.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { isStale, readListing, writeListing } from './tree-listing.ts'

const PackageRecord = z.object({
  name: z.string(),
  version: z.string(),
  digest: z.string(),
  integrity: z.string(),
  dependencies_digest: z.string(),
  /** Of every file that was installed, what it depends on included. */
  tree_digest: z.string(),
  /** What can be started, by name, each relative to the folder. */
  programs: z.record(z.string(), z.string()),
})

/** A package whose bytes were verified, installed with everything it needs. */
export type StoredPackage = z.infer<typeof PackageRecord> & { folder: string }

export type WantedPackage = {
  name: string
  version: string
  /** Undefined only where a placeholder stands and somebody chose to run with it. */
  digest: string | undefined
  integrity?: string | undefined
  dependencies_digest?: string | undefined
  /** What `readLockFile` gave where the package was locked: with it, the same dependencies are installed anywhere. */
  lockFile?: unknown
}

export type PackageProgress = { package: string; step: 'fetch' | 'install' | 'ready'; bytes?: number }

export type GetPackageOptions = {
  /** Reads every byte of what is in the store again, also where nothing was written to it. */
  isFull?: boolean | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: PackageProgress) => void) | undefined
}

/** Verified packages by their bytes and all that they need. What is in it is complete: a crash leaves a package or none. */
export type PackageStore = {
  folder: string
  /** From the store, or fetched into it first. */
  getPackage(wanted: WantedPackage, options?: GetPackageOptions): Promise<StoredPackage>
  /** What the registry has under a name and version or tag. Nothing of it is kept. */
  lookUp(spec: string, signal?: AbortSignal): Promise<NpmPackage>
  list(): Promise<StoredPackage[]>
}

/** npm runs in the sandbox; what is offline fetches nothing. */
export type PackageStoreOptions = { sandbox: Sandbox } | { offline: true }

const STALE_MS = 60 * 60 * 1000

export function openPackageStore(folder: string, options: PackageStoreOptions): PackageStore {
  const root = resolve(folder)
  const packages = join(root, 'sha256')
  const pending = new Map<string, Fetch>()
  const trees = new Map<string, FileTree>()

  return {
    folder: root,
    async getPackage(wanted, { signal, onProgress, isFull } = {}) {
      if (signal?.aborted) throw new MatrixError('TOOL_CANCELLED', 'Nobody waits for the package any more.')
      const key = `${wanted.name}@${wanted.version} ${wanted.digest} ${wanted.dependencies_digest} ${isFull}`
      const fetch = pending.get(key) ?? begin(key, wanted, { onProgress, isFull })
      return held(await waitFor(fetch, signal), wanted)
    },
    lookUp: (spec, signal) =>
      withTemporary(async (temporary) => {
        const { file: _gone, ...found } = await packNpmPackage(spec, npmIn(temporary, signal))
        return found
      }),
    async list() {
      const names = await readdir(packages).catch(() => [])
      const found = await Promise.all(names.map((name) => read(join(packages, name))))
      return found.filter((each) => each !== undefined)
    },
  }

  /** One fetch for all who want the same; it is given up when the last of them has given up. */
  function begin(key: string, wanted: WantedPackage, how: GetPackageOptions): Fetch {
    const abort = new AbortController()
    const forget = () => void (pending.get(key) === fetch && pending.delete(key))
    const stored = findOrFetch(wanted, { ...how, signal: abort.signal }).finally(forget)
    const giveUp = () => {
      forget()
      abort.abort()
    }
    const fetch: Fetch = { stored, waiting: 0, giveUp }
    pending.set(key, fetch)
    return fetch
  }

  async function findOrFetch(wanted: WantedPackage, how: GetPackageOptions): Promise<StoredPackage> {
    const stored = await find(wanted)
    if (stored) return checkTree(stored, how.isFull ?? false)
    if ('offline' in options)
      throw new MatrixError('PACKAGE_UNAVAILABLE', `${wanted.name}@${wanted.version} is not in the store.`, {
        hint: 'Run once with the network, or copy the store from a machine that has the package.',
      })
    return fetchPackage(wanted, how)
  }

  async function find(wanted: WantedPackage): Promise<StoredPackage | undefined> {
    const { name, version, digest, dependencies_digest: needs, lockFile } = wanted
    if (digest && needs) {
      const exact = await read(join(packages, folderName(digest, needs)))
      // Without its lock file it could only be fetched with the dependencies of today.
      if (exact || lockFile !== undefined) return exact
    }
    const names = await readdir(packages).catch(() => [])
    for (const each of digest ? names.filter((one) => one.startsWith(hexOf(digest))) : names) {
      const stored = await read(join(packages, each))
      if (stored && (digest || (stored.name === name && stored.version === version))) return stored
    }
    return undefined
  }

  /** Before every launch: what was not written to since it was last read is not read again, unless all of it is asked for. */
  async function checkTree(stored: StoredPackage, isFull: boolean): Promise<StoredPackage> {
    const { folder: place, tree_digest: recorded } = stored
    const known = isFull ? undefined : (trees.get(place) ?? (await readListing(listingOf(place))))
    const tree = await scanTree(place, { known, isSkipped: (path) => path === RECORD })
    if (treeDigest(tree) !== recorded) throw changedPackage(place, await readListing(listingOf(place)), tree)
    if (!known || isStale(known, tree)) await writeListing(listingOf(place), tree)
    trees.set(place, tree)
    return stored
  }

  function listingOf(place: string): string {
    return join(root, 'listings', `${basename(place)}.json`)
  }

  async function fetchPackage(
    wanted: WantedPackage,
    { signal, onProgress }: GetPackageOptions,
  ): Promise<StoredPackage> {
    const spec = `${wanted.name}@${wanted.version}`
    return withTemporary(async (temporary) => {
      const [fetched, installed] = [join(temporary, 'fetch'), join(temporary, 'package')]
      // The mode is for sandboxes, which run as another user where we are root.
      for (const folder of [fetched, installed]) await mkdir(folder, { mode: 0o755 })
      onProgress?.({ package: spec, step: 'fetch' })
      const packed = await packNpmPackage(spec, npmIn(fetched, signal))
      assertWanted(wanted, packed)
      onProgress?.({ package: spec, step: 'install', bytes: packed.bytes })
      const record = await install(packed, npmIn(installed, signal), wanted.lockFile)
      const target = join(packages, folderName(record.digest, record.dependencies_digest))
      await mkdir(packages, { recursive: true })
      await moveIntoPlace(installed, target)
      onProgress?.({ package: spec, step: 'ready' })
      return checkTree({ ...((await read(target)) ?? record), folder: target }, false)
    })
  }

  function npmIn(folder: string, signal: AbortSignal | undefined): NpmIn {
    if ('offline' in options) throw new MatrixError('PACKAGE_UNAVAILABLE', 'This store fetches nothing.')
    return { sandbox: options.sandbox, folder, cache: join(root, 'npm-cache'), signal }
  }

  async function withTemporary<Made>(make: (folder: string) => Promise<Made>): Promise<Made> {
    const temporary = join(root, 'tmp', randomUUID())
    await mkdir(temporary, { recursive: true, mode: 0o700 })
    await removeStale(join(root, 'tmp'))
    try {
      return await make(temporary)
    } finally {
      // An npm that was given up may still write for a moment.
      await rm(temporary, { recursive: true, force: true, maxRetries: 10 })
    }
  }
}

function changedPackage(folder: string, before: FileTree | undefined, after: FileTree): MatrixError {
  const [first, ...more] = before ? diffTrees(before, after) : []
  const what = first ? `: ${printableLine(first)}${more.length > 0 ? `, and ${more.length} more` : ''}` : ''
  return new MatrixError('PACKAGE_MISMATCH', `${folder} is not what was stored there${what}.`, {
    hint: `Remove ${folder}; it is fetched again when it is needed.`,
  })
}

type NpmIn = Parameters<typeof installNpmPackages>[1]

type Fetch = { stored: Promise<StoredPackage>; waiting: number; giveUp(): void }

/** Waits for a fetch that others may wait for as well; whoever gives up last waits until nothing of it is left. */
function waitFor(fetch: Fetch, signal: AbortSignal | undefined): Promise<StoredPackage> {
  fetch.waiting += 1
  if (!signal) return fetch.stored
  return new Promise((done, fail) => {
    const leave = () => {
      fetch.waiting -= 1
      if (fetch.waiting === 0) fetch.giveUp()
      else fail(new MatrixError('TOOL_CANCELLED', 'Nobody waits for the package any more.'))
    }
    signal.addEventListener('abort', leave, { once: true })
    fetch.stored.then(done, fail).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** The same bytes may be there with one set of dependencies and with another. */
function folderName(digest: string, dependencies: string): string {
  return `${hexOf(digest)}-${hexOf(dependencies).slice(0, 16)}`
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length)
}

type Packed = Awaited<ReturnType<typeof packNpmPackage>>

function assertWanted(wanted: WantedPackage, { name, version, package_digest: digest, integrity }: Packed): void {
  const spec = `${wanted.name}@${wanted.version}`
  const differs = (what: string, expected: string, found: string) =>
    new MatrixError('PACKAGE_MISMATCH', `${spec}: the ${what} is ${found}, but ${expected} was pinned.`)
  if (name !== wanted.name || version !== wanted.version) throw differs('package', spec, `${name}@${version}`)
  if (wanted.digest && digest !== wanted.digest) throw differs('digest', wanted.digest, digest)
  if (wanted.integrity && integrity !== wanted.integrity) throw differs('integrity', wanted.integrity, integrity)
}

/** What a lock adds to the digest holds for packages that are in the store already, too. */
function held(stored: StoredPackage, wanted: WantedPackage): StoredPackage {
  const spec = `${stored.name}@${stored.version}`
  if (wanted.name !== stored.name || wanted.version !== stored.version)
    throw new MatrixError('PACKAGE_MISMATCH', `${wanted.name}@${wanted.version} is pinned to the bytes of ${spec}.`)
  if (wanted.dependencies_digest && wanted.dependencies_digest !== stored.dependencies_digest)
    throw new MatrixError(
      'PACKAGE_MISMATCH',
      `What ${spec} depends on is not what it depended on when it was locked.`,
      {
        hint: 'Run matrix lock again and look at what changed.',
      },
    )
  return stored
}

async function install(packed: Packed, npm: NpmIn, lockFile: unknown): Promise<z.infer<typeof PackageRecord>> {
  const { folder } = npm
  const { name, version, integrity, package_digest: digest } = packed
  const spec = `${name}@${version}`
  await rename(packed.file, join(folder, PACKED_FILE))
  const manifest = { private: true, dependencies: { [name]: `file:${PACKED_FILE}` } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2))
  if (lockFile === undefined) await resolveNpmPackages(spec, npm)
  else await writeFile(join(folder, LOCK_FILE), JSON.stringify(lockFile))
  const resolved = await readLock(folder)
  assertFromRegistry(spec, resolved)
  await installNpmPackages(spec, npm)
  const dependencies_digest = dependenciesDigest(resolved)
  const programs = await programsOf(folder, name)
  const tree_digest = treeDigest(await scanTree(folder))
  const record = { name, version, digest, integrity, dependencies_digest, tree_digest, programs }
  await writeDurably(join(folder, RECORD), JSON.stringify(record, null, 2))
  return record
}

const RECORD = 'record.json'
const LOCK_FILE = 'package-lock.json'

async function readLock(folder: string): Promise<NpmLockFile> {
  return parseNpmLockFile(parseJson((await readOwn(join(folder, LOCK_FILE))).toString('utf8')))
}

/** The lock file of a stored package without addresses, so that any registry that has the same bytes will do. */
export async function readLockFile({ folder }: StoredPackage): Promise<unknown> {
  return withoutAddresses(await readLock(folder))
}

async function programsOf(folder: string, name: string): Promise<Record<string, string>> {
  const inside = join('node_modules', ...name.split('/'))
  const text = (await readOwn(join(folder, inside, 'package.json'))).toString('utf8')
  const { bin, main } = JSON.parse(text) as { bin?: string | Record<string, string>; main?: string }
  const short = name.replace(/^.*\//, '')
  const programs = typeof bin === 'string' ? { [short]: bin } : (bin ?? (main ? { [short]: main } : {}))
  return Object.fromEntries(Object.entries(programs).map(([program, file]) => [program, join(inside, file)]))
}

async function read(folder: string): Promise<StoredPackage | undefined> {
  const text = await readFile(join(folder, RECORD), 'utf8').catch(() => undefined)
  const record = text === undefined ? undefined : PackageRecord.safeParse(parseJson(text))
  return record?.success ? { ...record.data, folder } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx')
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Two processes may fetch the same package at once; the one that comes second keeps the first one's. */
async function moveIntoPlace(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
    if (await read(to)) return
    // Whatever lies there was never finished, so it was never used.
    await rm(to, { recursive: true, force: true })
    await rename(from, to)
  }
}

async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(join(folder, name), { recursive: true, force: true })
  }
}
