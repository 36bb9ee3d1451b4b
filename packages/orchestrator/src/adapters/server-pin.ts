import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  collectLockFiles,
  openServerPool,
  type PackageStore,
  pinServer,
  type Redactor,
  type Sandbox,
} from '@matrix/tool-manager'
import type { ServerApprovalPorts } from '../server-approval.ts'

/** Looks at servers that nobody has pinned yet: each is started once, in a box that allows nothing, in an empty folder. */
export function createServerPin(around: {
  sandbox: Sandbox
  store: PackageStore
  redactor: Redactor
  /** Gives up whatever is being looked at. */
  signal?: AbortSignal | undefined
}): ServerApprovalPorts['pin'] {
  const { signal } = around
  return async (draft) => {
    const pool = openServerPool({ ...around, bootstrap: true })
    const emptyFolder = await mkdtemp(join(tmpdir(), 'matrix-empty-'))
    // Boxes run as somebody else where we are root.
    await chmod(emptyFolder, 0o777)
    const giveUp = () => void pool.close()
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      const pinned = await pinServer(draft, { pool, store: around.store, emptyFolder, signal })
      const servers = { [draft.alias]: pinned.resolved }
      return { ...pinned, lockFiles: await collectLockFiles({ servers }, around.store) }
    } finally {
      signal?.removeEventListener('abort', giveUp)
      await pool.close()
      await rm(emptyFolder, { recursive: true, force: true })
    }
  }
}
