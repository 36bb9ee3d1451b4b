import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { type DaemonFile, daemonFileName } from '@matrix/protocol/http'
import { type Client, createClient } from './client.ts'
import { createLocalFetch } from './local-fetch.ts'

/**
 * The client of the daemon that runs on this data directory, with the rights of its owner. Nobody else can be mistaken for it: only
 * its owner gets to the socket, and only the daemon that wrote the token takes it.
 */
export async function connectLocal(dataDirectory: string): Promise<Client> {
  const daemon = await readDaemonFile(dataDirectory)
  if (!daemon) throw new MatrixError('DAEMON_UNREACHABLE', `No daemon runs on ${dataDirectory}.`)
  return clientOf(daemon)
}

/** A daemon that is busy takes a moment; one that takes longer is of no use to whoever looks for it. */
const answerMs = 5000

/**
 * What the daemon of a data directory says of itself, if it answers. A file left behind by a killed one does not count, whoever
 * has its process id or its port by now.
 */
export async function findDaemon(dataDirectory: string): Promise<DaemonFile | undefined> {
  const daemon = await readDaemonFile(dataDirectory)
  const status = daemon && (await askStatus(daemon).catch(() => undefined))
  return status?.pid === daemon?.pid && status?.startedAt === daemon?.startedAt ? daemon : undefined
}

async function askStatus(daemon: DaemonFile) {
  return (await clientOf(daemon)).getStatus({}, { signal: AbortSignal.timeout(answerMs) })
}

async function clientOf({ url, socket, tokenFile }: DaemonFile): Promise<Client> {
  if (socket) return createClient({ baseUrl: url, fetch: createLocalFetch({ socket }) })
  const token = (await readFile(tokenFile, 'utf8')).trim()
  return createClient({ baseUrl: url, fetch: createLocalFetch(), token })
}

async function readDaemonFile(dataDirectory: string): Promise<DaemonFile | undefined> {
  const text = await readFile(join(dataDirectory, daemonFileName), 'utf8').catch(() => undefined)
  const file = text === undefined ? undefined : parseJson(text)
  return isDaemonFile(file) ? file : undefined
}

/** By hand: a command that is over in a moment has no time to load a schema for one file of our own. */
function isDaemonFile(value: unknown): value is DaemonFile {
  const { pid, startedAt, url, socket, tokenFile, args } = (value ?? {}) as Partial<Record<keyof DaemonFile, unknown>>
  const isSocket = socket === null || typeof socket === 'string'
  const areTexts = [startedAt, url, tokenFile].every((text) => typeof text === 'string')
  return Number.isInteger(pid) && Number(pid) > 0 && isSocket && areTexts && Array.isArray(args)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
