import { readlink, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beneath } from './beneath.ts'
import type { Disk, DiskEntry } from './disk.ts'
import type { Repository } from './repository.ts'

/** A checkout with the index that belongs to it. */
export type Checkout = { checkout: string; gitDir: string }

type Ends = { from: string; to: string }

/** A file that differs between both ends, with its mode and id there. */
type Touched = { path: string; old: string | undefined; new: string | undefined }

/** Brings index and files from one commit to the other. git refuses where a change of the user's would be overwritten. */
export async function advanceFiles(repository: Repository, place: Checkout, { from, to }: Ends): Promise<void> {
  const { checkout: workTree } = place
  const env = indexOf(place)
  await repository.files(['update-index', '-q', '--refresh'], { workTree, env, codes: [0, 1] })
  await repository.files(['read-tree', '-m', '-u', '--end-of-options', from, to], { workTree, env })
}

/** A file that no commit holds and an advance would write over. git looks for those as well, but takes ignored ones for nobody's. */
export async function findInTheWay(
  disk: Disk,
  repository: Repository,
  { checkout }: Checkout,
  ends: Ends,
): Promise<string | undefined> {
  const touched = await listTouched(repository, ends)
  const held = touched.filter((file) => file.old !== undefined).map((file) => file.path)
  const isHeld = new Set(held.flatMap((path) => [path, ...foldersOf(path)]))
  const folders = new Set<string>()
  for (const { path, old } of touched) {
    if (old !== undefined) continue
    if (!isHeld.has(path) && !nothing.has(await kindBeneath(disk, checkout, path))) return path
    for (const folder of foldersOf(path)) if (!isHeld.has(folder)) folders.add(folder)
  }
  for (const folder of folders)
    if (!['directory', 'missing', undefined].includes(await kindBeneath(disk, checkout, folder))) return folder
  return undefined
}

/**
 * Takes back what an advance wrote that failed or was killed before it reached the index, which is its last step. A file
 * that holds neither the beginning of what it held before, as a taking back that failed leaves it, nor of what it was to
 * hold is someone's work: then nothing is done.
 */
export async function retreatFiles(
  disk: Disk,
  repository: Repository,
  place: Checkout,
  { from, to }: Ends,
): Promise<boolean> {
  const touched = await listTouched(repository, { from, to })
  const known = await readIndex(repository, place)
  if (!touched.every(({ path, old }) => known.get(path) === old)) return false
  const changed = await listChanged(repository, place, touched)
  for (const file of changed) if (!(await isOnTheWay(disk, repository, place, file))) return false

  const workTree = place.checkout
  for (const { path } of changed.filter((file) => file.old === undefined)) await removeWithFolders(disk, workTree, path)
  const input = changed.flatMap(({ path, old }) => (old === undefined ? [] : [`${path}\0`])).join('')
  const args = ['checkout-index', '--force', '--index', '-z', '--stdin']
  if (input !== '') await repository.files(args, { workTree, env: indexOf(place), input })
  return true
}

/** Whether the index has all that the commit brings. It is written last, so the files have it then as well. */
export async function isAdvanced(repository: Repository, place: Checkout, ends: Ends): Promise<boolean> {
  const known = await readIndex(repository, place)
  return (await listTouched(repository, ends)).every((file) => known.get(file.path) === file.new)
}

function indexOf({ gitDir }: Checkout): Record<string, string> {
  return { GIT_INDEX_FILE: join(gitDir, 'index') }
}

async function listTouched(repository: Repository, { from, to }: Ends): Promise<Touched[]> {
  const args = ['diff-tree', '-r', '--no-renames', '--raw', '--no-abbrev', '-z', '--end-of-options', from, to]
  const fields = (await repository.files(args)).text().split('\0')
  const touched: Touched[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', newMode, old, now] = (fields[at] ?? '').slice(1).split(' ')
    touched.push({ path: fields[at + 1] ?? '', old: entry(oldMode, old), new: entry(newMode, now) })
  }
  return touched
}

function entry(mode = '', oid = ''): string | undefined {
  return /^0+$/.test(oid) ? undefined : `${mode} ${oid}`
}

async function readIndex(repository: Repository, place: Checkout): Promise<Map<string, string>> {
  const args = ['ls-files', '--stage', '-z']
  const { text } = await repository.files(args, { env: indexOf(place), maxBytes: 1024 ** 3 })
  const lines = text().split('\0').filter(Boolean)
  // Mode, id and stage, then a tab and the path.
  return new Map(lines.map((line) => [line.slice(line.indexOf('\t') + 1), line.slice(0, line.indexOf('\t') - 2)]))
}

/** Those that are no longer as the index says; for files that it does not know, those that are there. */
async function listChanged(repository: Repository, place: Checkout, touched: Touched[]): Promise<Touched[]> {
  const options = { workTree: place.checkout, env: indexOf(place) }
  await repository.files(['update-index', '-q', '--refresh'], { ...options, codes: [0, 1] })
  const differing = await repository.files(['diff-files', '--name-only', '-z'], options)
  const unknown = await repository.files(['ls-files', '--others', '-z'], options)
  const paths = new Set([...differing.text().split('\0'), ...unknown.text().split('\0')])
  return touched.filter(({ path }) => paths.has(path))
}

// git takes one file away before it writes the other, so a file that is gone is a beginning too.
async function isOnTheWay(disk: Disk, repository: Repository, place: Checkout, file: Touched): Promise<boolean> {
  const kind = await kindBeneath(disk, place.checkout, file.path)
  if (nothing.has(kind)) return true
  if (kind !== 'file' && kind !== 'link') return false
  const content = await beneath(place.checkout, file.path, async (path) =>
    kind === 'link' ? Buffer.from(await readlink(path)) : disk.read(path),
  )
  if (!content) return false
  for (const end of [file.new, file.old]) {
    if (end === undefined) continue
    const { stdout } = await repository.files(['cat-file', 'blob', end.slice(end.indexOf(' ') + 1)])
    if (Buffer.compare(content, stdout.subarray(0, content.length)) === 0) return true
  }
  return false
}

async function removeWithFolders(disk: Disk, checkout: string, path: string): Promise<void> {
  if (!nothing.has(await kindBeneath(disk, checkout, path))) await beneath(checkout, path, (file) => disk.remove(file))
  for (const folder of foldersOf(path)) await beneath(checkout, folder, (place) => rmdir(place).catch(() => {}))
}

const nothing: ReadonlySet<string | undefined> = new Set(['missing', undefined])

function kindBeneath(disk: Disk, folder: string, path: string): Promise<DiskEntry | undefined> {
  return beneath(folder, path, (place) => disk.kind(place))
}

/** The folders above a path, the nearest first. */
function foldersOf(path: string): string[] {
  const folder = dirname(path)
  return folder === '.' ? [] : [folder, ...foldersOf(folder)]
}
