import { accessSync, constants, readFileSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'

/** Since then, the clients of Node look for a proxy in the environment without a warning. */
const QUIET_SINCE = 24

/**
 * Has fetch, http and https of the user's Node use the proxy of the sandbox. Node 22 would print a warning from every process,
 * which tests see. The version is read from the headers of the installation, because nothing of the user's PATH is run here.
 */
export function findNodeProxy(searchPath: readonly string[]): Record<string, string> {
  const program = searchPath.map((folder) => join(folder, 'node')).find(isProgram)
  return program && majorOf(program) >= QUIET_SINCE ? { NODE_USE_ENV_PROXY: '1' } : {}
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return isAbsolute(path)
  } catch {
    return false
  }
}

/** 0 where no headers lie beside it, as with the shims of version managers. */
function majorOf(program: string): number {
  const folder = dirname(dirname(realpathSync.native(program)))
  try {
    const header = readFileSync(join(folder, 'include/node/node_version.h'), 'utf8')
    return Number(/^#define NODE_MAJOR_VERSION (\d+)$/m.exec(header)?.[1] ?? 0)
  } catch {
    return 0
  }
}
