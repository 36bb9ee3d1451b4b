import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Server } from '@matrix/manifest'
import {
  collectLockFiles,
  hookRoot,
  keepHookFiles,
  openServerPool,
  type PackageStore,
  proposeAgent,
  type Redactor,
  type Sandbox,
} from '@matrix/tool-manager'
import type { AgentCatalogPorts } from '../agent-catalog.ts'

/** A server that says nothing for this long is left out; to fetch a package may take longer. */
const CONNECT_TIMEOUT_MS = 15_000

/** Pins agents that nobody has approved yet: each server is started once, in a sandbox that allows nothing, in an empty folder. */
export function createAgentPin(around: {
  sandbox: Sandbox
  store: PackageStore
  redactor: Redactor
  ownServer(): Promise<Server>
  signal?: AbortSignal | undefined
}): AgentCatalogPorts['pin'] {
  const { store, signal } = around
  return async (document, { fileName, folder: given, agent }) => {
    const pool = openServerPool({ ...around, bootstrap: true, connectTimeoutMs: CONNECT_TIMEOUT_MS })
    const emptyFolder = await mkdtemp(join(tmpdir(), 'matrix-empty-'))
    // Sandboxes run as another user where we are root.
    await chmod(emptyFolder, 0o777)
    const giveUp = () => void pool.close()
    signal?.addEventListener('abort', giveUp, { once: true })
    const folder = given ?? emptyFolder
    try {
      const proposal = await proposeAgent(document, {
        ...{ pool, store, emptyFolder, folder, fileName, agent, signal },
        isAgent: true,
        ownServer: await around.ownServer(),
      })
      const approved = proposal.lock.hook_files
      return {
        ...proposal,
        lockFiles: await collectLockFiles(proposal.lock, store),
        keepHookFiles: approved && ((to) => replaceFolder(to, () => keepHookFiles(hookRoot(folder), approved, to))),
      }
    } finally {
      signal?.removeEventListener('abort', giveUp)
      await pool.close()
      await rm(emptyFolder, { recursive: true, force: true })
    }
  }
}

/** What an earlier agent of this name ran from is not what this one was approved with. */
async function replaceFolder(folder: string, fill: () => Promise<void>): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await fill()
}
