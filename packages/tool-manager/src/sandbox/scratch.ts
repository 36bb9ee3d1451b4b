import { execFile } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Identity } from './identity.ts'

/** A folder on disk that is the /tmp of one box: builds put there more than memory has to spare. */
export type Scratch = { folder: string; remove(): Promise<void> }

const opened = new Set<string>()

/** Makes an empty folder, so that no link from before can stand where bubblewrap makes a mount point. */
export function openScratch(parent: string, identity: Identity | undefined): Scratch {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  if (!opened.has(parent)) void removeAll(parent, identity)
  opened.add(parent)
  const folder = mkdtempSync(join(parent, 'box-'))
  chmodSync(folder, 0o1777)
  if (identity) chownSync(folder, identity.uid, identity.gid)
  return { folder, remove: () => removeFolder(folder, identity) }
}

/** What a process that was killed has left behind. */
async function removeAll(parent: string, identity: Identity | undefined): Promise<void> {
  for (const name of readdirSync(parent)) await removeFolder(join(parent, name), identity)
}

async function removeFolder(folder: string, identity: Identity | undefined): Promise<void> {
  await emptyFolder(folder, identity)
  try {
    rmdirSync(folder)
  } catch {
    // It is tried again when Matrix starts the next time.
  }
}

const emptying = 'find . -mindepth 1 -delete 2>/dev/null || { chmod -R u+rwX . ; find . -mindepth 1 -delete; }'

/** Removes what boxes have written, as the one they run as: whatever is found there instead, nothing else can be removed. */
async function emptyFolder(folder: string, identity: Identity | undefined): Promise<void> {
  const options = { cwd: folder, env: { PATH: '/usr/bin:/bin' }, ...identity }
  await promisify(execFile)('/bin/sh', ['-c', emptying], options).catch(() => {})
}
