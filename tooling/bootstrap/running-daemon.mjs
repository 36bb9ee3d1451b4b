import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * The address of a daemon of Matrix that runs on the same data, or answers where one would listen that is started with these
 * arguments: building another first would only waste a minute.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>}
 */
export async function findRunning(args, env) {
  const folder = optionOf(args, 'data-dir') ?? env.MXD_DATA_DIR ?? join(homedir(), '.mxd')
  for (const address of [addressIn(folder), `http://127.0.0.1:${optionOf(args, 'port') ?? 7433}`])
    if (address && (await isDaemon(address))) return address
  return undefined
}

/**
 * @param {readonly string[]} args
 * @param {string} name
 */
function optionOf(args, name) {
  const at = args.findIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`))
  return at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1])
}

/**
 * What the daemon of a data directory has written down about itself.
 * @param {string} folder
 * @returns {string | undefined}
 */
function addressIn(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'daemon.json'), 'utf8')).url
  } catch {
    return undefined
  }
}

/** @param {string} address */
async function isDaemon(address) {
  try {
    const answer = await fetch(`${address}/health`, { signal: AbortSignal.timeout(2000) })
    const health = /** @type {{ ok?: unknown, version?: unknown }} */ (await answer.json())
    return health.ok === true && typeof health.version === 'string'
  } catch {
    return false
  }
}
