import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * The address of the daemon of Matrix that runs on the same data, wherever it listens: building another first would only waste a
 * minute. Whoever else uses the port is no concern of this: the daemon says so when it cannot have it.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>}
 */
export async function findRunning(args, env) {
  const folder = optionOf(args, 'data-dir') ?? env.MXD_DATA_DIR ?? join(homedir(), '.mxd')
  try {
    const file = JSON.parse(readFileSync(join(folder, 'daemon.json'), 'utf8'))
    const { pid, startedAt } = await askStatus(file)
    // The file may have been left behind, and its port may be another one's by now.
    return pid === file.pid && startedAt === file.startedAt ? file.url : undefined
  } catch {
    return undefined
  }
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
 * What the daemon says that wrote this file: only it answers at its socket, or takes its token.
 * @param {{ url: string, socket: string | null, tokenFile: string }} file
 * @returns {Promise<{ pid?: unknown, startedAt?: unknown }>}
 */
async function askStatus({ url, socket, tokenFile }) {
  const { host, hostname, port } = new URL(url)
  const headers = socket ? { host } : { host, authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` }
  const place = socket ? { socketPath: socket } : { host: hostname.replace(/^\[|\]$/g, ''), port }
  const options = { ...place, path: '/api/status', headers, signal: AbortSignal.timeout(2000) }
  return new Promise((resolve, reject) => {
    get(options, (answer) => readJson(answer).then(resolve, reject)).on('error', reject)
  })
}

/** @param {AsyncIterable<Buffer>} answer */
async function readJson(answer) {
  let text = ''
  for await (const chunk of answer) text += chunk
  return JSON.parse(text)
}
