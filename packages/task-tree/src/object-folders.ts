import { isAbsolute, join, resolve } from 'node:path'
import type { Disk } from './disk.ts'
import { decodeText, readFile } from './durable-file.ts'

/** The folder and all that it borrows from in turn: what a sandbox has to see. */
export async function listObjectFolders(disk: Disk, folder: string): Promise<[string, ...string[]]> {
  return [folder, ...(await listBorrowed(disk, folder, new Set([folder])))]
}

async function listBorrowed(disk: Disk, folder: string, seen: Set<string>): Promise<string[]> {
  const content = await readFile(disk, join(folder, 'info/alternates'))
  const lines = content ? decodeText(content).split('\n') : []
  const borrowed: string[] = []
  for (const line of lines.filter((each) => each !== '' && !each.startsWith('#'))) {
    const path = isAbsolute(line) ? line : resolve(folder, line)
    if (seen.has(path) || seen.size > 20 || (await disk.kind(path)) === 'missing') continue
    seen.add(path)
    borrowed.push(path, ...(await listBorrowed(disk, path, seen)))
  }
  return borrowed
}
