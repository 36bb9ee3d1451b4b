import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printableLine } from '@matrix/protocol'
import {
  type LockFiles,
  openPackageStore,
  openSandbox,
  openServerPool,
  type PackageStore,
  type PoolEvent,
  type ServerPool,
  useUpstream,
} from '@matrix/tool-manager'
import { dataFolder } from './data-folder.ts'
import { colorsFor, printError } from './terminal.ts'

/** What commands that start servers share. */
export type Workbench = {
  pool: ServerPool
  store: PackageStore
  /** An empty folder, for servers that are started only to be looked at. */
  emptyFolder: string
  isBoxing: boolean
  close(): Promise<void>
}

export type WorkbenchOptions = {
  bootstrap?: boolean | undefined
  /** Whether a person agreed to go on where nothing can be boxed. */
  unsandboxed?: boolean | undefined
  lockFiles?: LockFiles | undefined
  /** Reads every byte of what is in the store again. */
  isFull?: boolean | undefined
  onEvent?: ((event: PoolEvent) => void) | undefined
}

export async function openWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  const { bootstrap, unsandboxed, lockFiles, isFull, onEvent } = options
  useUpstream()
  const sandbox = await openSandbox({ mode: 'auto', unboxedAgreed: unsandboxed })
  const { yellow } = colorsFor(process.stderr)
  if (!sandbox.isBoxing && unsandboxed) printError(yellow('Servers run without a sandbox, with all that you may do.'))
  const emptyFolder = mkdtempSync(join(tmpdir(), 'matrix-empty-'))
  // Boxes run as somebody else where we are root.
  chmodSync(emptyFolder, 0o777)
  const store = openPackageStore(join(dataFolder(), 'packages'), { sandbox })
  const pool = openServerPool({
    sandbox,
    store,
    bootstrap,
    lockFiles,
    isFull,
    connectTimeoutMs: 60_000,
    onEvent: (event) => {
      tellProgress(event)
      onEvent?.(event)
    },
  })
  return {
    pool,
    store,
    emptyFolder,
    isBoxing: sandbox.isBoxing,
    async close() {
      await pool.close()
      rmSync(emptyFolder, { recursive: true, force: true })
    },
  }
}

const steps = { fetch: 'fetching', install: 'installing what it needs for', ready: 'ready:' }

function tellProgress(event: PoolEvent): void {
  const { dim, yellow } = colorsFor(process.stderr)
  if (event.type === 'package_progress')
    printError(dim(`${event.alias}: ${steps[event.progress.step]} ${printableLine(event.progress.package)}`))
  if (event.type === 'placeholder_used')
    printError(yellow(`${event.alias}: its digest is a placeholder, so its bytes are not verified`))
}
