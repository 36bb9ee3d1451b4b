import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkBranchName } from './branch-name.ts'
import type { Disk } from './disk.ts'
import { decodeText, readFile } from './durable-file.ts'
import type { Repository } from './repository.ts'

const oid = /^[0-9a-f]{40}([0-9a-f]{24})?$/
const muchText = 4 * 1024 * 1024

/**
 * The commit of a branch, read from git's own files, if these also say that there is no branch below `without`. Starting a
 * git takes longer than that. Wherever the files do not say it plainly there is no answer, and git is to be asked.
 */
export async function readBranch(
  disk: Disk,
  { gitDir, refFormat }: Repository,
  name: string,
  { without }: { without: string },
): Promise<string | undefined> {
  if (refFormat !== 'files') return undefined
  const file = (branch: string) => join(gitDir, 'refs/heads', checkBranchName(branch))
  if ((await disk.kind(file(without))) !== 'missing') return undefined
  const kind = await disk.kind(file(name))
  if (kind === 'link' || kind === 'other') return undefined
  const loose = kind === 'file' ? await readFile(disk, file(name)) : undefined
  // Last, because that is the order in which git moves branches from files of their own into this one.
  const packed = await readPacked(disk, join(gitDir, 'packed-refs'))
  if (packed === undefined || packed.includes(` refs/heads/${without}/`)) return undefined
  const commit = loose ? decodeText(loose).trim() : findPacked(packed, `refs/heads/${name}`)
  return oid.test(commit) ? commit : undefined
}

async function readPacked(disk: Disk, file: string): Promise<string | undefined> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size > muchText) return undefined
  const content = await readFile(disk, file)
  return content ? decodeText(content) : ''
}

function findPacked(packed: string, ref: string): string {
  const end = packed.indexOf(` ${ref}\n`)
  return end === -1 ? '' : packed.slice(packed.lastIndexOf('\n', end) + 1, end)
}
