import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import type { Surroundings } from '@matrix/tool-manager'

/** Where a setup finds what was named of the user's checkout; the checkout itself is not in the sandbox. */
export const CHECKOUT = '/run/matrix/checkout'

const MAX_BYTES = 4 << 20

/** The named files as they are now, for a sandbox to read. One that is missing is missing inside too. */
export async function readCheckoutFiles(
  checkout: string,
  paths: readonly string[],
): Promise<NonNullable<Surroundings['files']>> {
  const root = await realpath(checkout)
  const found = await Promise.all(paths.map(async (path) => ({ path, text: await readPlain(root, path) })))
  return found.flatMap(({ path, text }) => (text ? [{ target: `${CHECKOUT}/${path}`, text }] : []))
}

/** Through no link: a repository could bring one under a name that looks harmless. */
async function readPlain(root: string, path: string): Promise<Uint8Array | undefined> {
  const file = join(root, path)
  const folder = await realpath(dirname(file)).catch(() => undefined)
  if (folder === undefined) return undefined
  if (folder !== dirname(file)) throw refused(path, 'lies behind a link')
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw refused(path, error.code === 'ELOOP' ? 'is a link' : `cannot be read (${error.code})`)
  })
  if (!handle) return undefined
  try {
    const about = await handle.stat()
    if (!about.isFile()) throw refused(path, 'is not a file: name the files in it')
    if (about.size > MAX_BYTES) throw refused(path, 'has more than 4 MiB')
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

function refused(path: string, why: string): MatrixError {
  return new MatrixError('SETUP_FAILED', `The setup reads ${path} of your checkout, which ${why}.`, {
    hint: 'Put a plain file there, or leave it out with matrix init --setup-files.',
  })
}
