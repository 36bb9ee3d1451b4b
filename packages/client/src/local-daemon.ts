import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { type DaemonFile, daemonFileName } from '@matrix/protocol/http'
import { type Client, createClient } from './client.ts'
import { createLocalFetch } from './local-fetch.ts'

/** The client of the daemon that runs on this data directory, with the rights of its owner. */
export async function connectLocal(dataDirectory: string): Promise<Client> {
  const daemon = await findDaemon(dataDirectory)
  if (!daemon) throw new MatrixError('DAEMON_UNREACHABLE', `No daemon runs on ${dataDirectory}.`)

  const { url, socket, tokenFile } = daemon
  if (socket) return createClient({ baseUrl: url, fetch: createLocalFetch({ socket }) })
  const token = (await readFile(tokenFile, 'utf8')).trim()
  return createClient({ baseUrl: url, fetch: createLocalFetch(), token })
}

/** What the daemon of a data directory says of itself, if one is alive. A file left behind by a killed one does not count. */
export async function findDaemon(dataDirectory: string): Promise<DaemonFile | undefined> {
  const text = await readFile(join(dataDirectory, daemonFileName), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const file = parseJson(text)
  return isDaemonFile(file) && isAlive(file.pid) ? file : undefined
}

/** By hand: a command that is over in a moment has no time to load a schema for one file of our own. */
function isDaemonFile(value: unknown): value is DaemonFile {
  const { pid, url, socket, tokenFile } = (value ?? {}) as Partial<Record<keyof DaemonFile, unknown>>
  const isSocket = socket === null || typeof socket === 'string'
  return (
    Number.isInteger(pid) && Number(pid) > 0 && typeof url === 'string' && isSocket && typeof tokenFile === 'string'
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
