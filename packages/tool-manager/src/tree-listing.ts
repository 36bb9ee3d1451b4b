import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as z from 'zod'
import type { FileTree } from './file-tree.ts'

const Listing = z.record(z.string(), z.tuple([z.enum(['file', 'link', 'other']), z.string(), z.string()]))

/** What a folder held when it was verified, for the next time. Undefined where there is none that can be read. */
export async function readListing(file: string): Promise<FileTree | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const listing = text === undefined ? undefined : Listing.safeParse(parseJson(text))
  if (!listing?.success) return undefined
  return new Map(Object.entries(listing.data).map(([path, [kind, digest, stamp]]) => [path, { kind, digest, stamp }]))
}

export async function writeListing(file: string, tree: FileTree): Promise<void> {
  const entries = [...tree].map(([path, { kind, digest, stamp }]) => [path, [kind, digest, stamp]])
  const temporary = `${file}.${randomUUID()}`
  await mkdir(dirname(file), { recursive: true })
  try {
    await writeFile(temporary, JSON.stringify(Object.fromEntries(entries)), { flag: 'wx', mode: 0o600 })
    await rename(temporary, file)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Whether a listing would say something else now, such as after the folder was copied. */
export function isStale(listing: FileTree, tree: FileTree): boolean {
  return listing.size !== tree.size || [...tree].some(([path, { stamp }]) => listing.get(path)?.stamp !== stamp)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
