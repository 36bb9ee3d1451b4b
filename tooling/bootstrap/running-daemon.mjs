/**
 * Where a daemon would listen that is started with these arguments.
 * @param {readonly string[]} args
 */
export function portOf(args) {
  const at = args.findIndex((arg) => arg === '--port' || arg.startsWith('--port='))
  const given = at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1])
  return Number(given ?? 7433)
}

/**
 * The address of a daemon of Matrix that answers on this port: building another first would only waste a minute.
 * @param {number} port
 * @returns {Promise<string | undefined>}
 */
export async function findRunning(port) {
  if (!(port > 0 && port < 65_536)) return undefined
  const address = `http://127.0.0.1:${port}`
  try {
    const answer = await fetch(`${address}/health`, { signal: AbortSignal.timeout(2000) })
    const health = /** @type {{ ok?: unknown, version?: unknown }} */ (await answer.json())
    return health.ok === true && typeof health.version === 'string' ? address : undefined
  } catch {
    return undefined
  }
}
