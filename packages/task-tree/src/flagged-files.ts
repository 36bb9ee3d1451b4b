import { isAbsolute, posix } from 'node:path'
import { findConfiguredHooks } from './commit-hooks.ts'
import { decodeText } from './durable-file.ts'
import { type ChangedFile, type FlagPlace, findReasons, isRuledLink, needsContent } from './flag.ts'
import type { Repository } from './repository.ts'

/** A file that runs by itself for users who open, install or commit, with the reasons. */
export type FlaggedFile = { path: string; reasons: string[] }

/** What is flagged between two trees. A renamed file counts as one that goes and one that comes. */
export async function findFlagged(repository: Repository, from: string, to: string): Promise<FlaggedFile[]> {
  const files = await listChanged(repository, from, to)
  if (files.length === 0) return []
  const place = await readPlace(repository, to)
  const asked = files.filter(({ path, newMode }) => needsContent(path, newMode, place))
  const contents = await readBlobs(
    repository,
    asked.flatMap(({ oldId, newId }) => [oldId, newId]),
  )
  return files.flatMap(({ oldId, newId, ...file }) => {
    const reasons = findReasons({ ...file, old: contents.get(oldId), new: contents.get(newId) }, place)
    return reasons.length > 0 ? [{ path: file.path, reasons }] : []
  })
}

type Changed = Pick<ChangedFile, 'path' | 'oldMode' | 'newMode'> & { oldId: string; newId: string }

async function listChanged(repository: Repository, from: string, to: string): Promise<Changed[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', '--ignore-submodules=none']
  const fields = (await repository.files([...args, '--end-of-options', from, to])).text().split('\0')
  return fields.flatMap((field, at) => {
    const [oldMode = '', newMode = '', oldId = '', newId = ''] = field.split(' ')
    const path = fields[at + 1]
    return at % 2 === 0 && path !== undefined ? [{ path, oldMode: oldMode.slice(1), newMode, oldId, newId }] : []
  })
}

async function readPlace(repository: Repository, tree: string): Promise<FlagPlace> {
  const [hooks, links] = await Promise.all([findConfiguredHooks(repository), readLinks(repository, tree)])
  const names = [...links.keys()].filter(isRuledLink)
  return {
    hooksPath: hooks === '' || isAbsolute(hooks) ? undefined : hooks,
    links: names.flatMap((name) => follow(links, name).map((target) => ({ name, target }))),
  }
}

/** Every link of a tree, with the path that it leads to. */
async function readLinks(repository: Repository, tree: string): Promise<Map<string, string>> {
  const { text } = await repository.files(['ls-tree', '-r', '-z', '--end-of-options', tree], { maxBytes: maxListing })
  const entries = text()
    .split('\0')
    .filter((entry) => entry.startsWith('120000 '))
  const links = entries.map((entry) => ({
    id: entry.split(/[ \t]/, 3)[2] ?? '',
    path: entry.slice(entry.indexOf('\t') + 1),
  }))
  const targets = await readBlobs(
    repository,
    links.map(({ id }) => id),
  )
  return new Map(links.map(({ id, path }) => [path, posix.join(posix.dirname(path), targets.get(id) ?? '')]))
}

const maxListing = 256 * 1024 * 1024
const maxSteps = 40

/** The paths that a link leads to, over other links, until one is none. */
function follow(links: ReadonlyMap<string, string>, name: string): string[] {
  const found: string[] = []
  for (let at: string | undefined = links.get(name); at !== undefined && found.length < maxSteps; at = step(links, at))
    found.push(at)
  return found
}

/** A path with its first folder that is a link replaced. */
function step(links: ReadonlyMap<string, string>, path: string): string | undefined {
  const parts = path.split('/')
  for (let length = 1; length <= parts.length; length++) {
    const target = links.get(parts.slice(0, length).join('/'))
    if (target !== undefined) return posix.join(target, ...parts.slice(length))
  }
  return undefined
}

const maxFile = 8 * 1024 * 1024
const maxTotal = 64 * 1024 * 1024

/** The texts of blobs by their ids: `null` where one is too large, nothing where there is none. */
async function readBlobs(repository: Repository, ids: readonly string[]): Promise<Map<string, string | null>> {
  const wanted = [...new Set(ids)].filter((id) => !/^0+$/.test(id))
  const texts = new Map<string, string | null>(wanted.map((id) => [id, null]))
  if (wanted.length === 0) return texts
  const readable = await chooseReadable(repository, wanted)
  const { stdout } = await repository.files(['cat-file', '--batch'], {
    input: readable.map(({ id }) => `${id}\n`).join(''),
    maxBytes: maxTotal * 2,
  })
  let at = 0
  for (const { id, size } of readable) {
    const start = stdout.indexOf(newline, at) + 1
    texts.set(id, decodeText(stdout.subarray(start, start + size)))
    at = start + size + 1
  }
  return texts
}

const newline = 10

async function chooseReadable(repository: Repository, ids: readonly string[]): Promise<{ id: string; size: number }[]> {
  const input = ids.map((id) => `${id}\n`).join('')
  const lines = (await repository.files(['cat-file', '--batch-check'], { input })).text().split('\n')
  let total = 0
  return lines.flatMap((line) => {
    const [id = '', type, size = ''] = line.split(' ')
    const bytes = Number(size)
    if (type !== 'blob' || bytes > maxFile || total + bytes > maxTotal) return []
    total += bytes
    return [{ id, size: bytes }]
  })
}
