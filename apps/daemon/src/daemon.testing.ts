import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Client,
  createClient,
  createDeviceKey,
  type DeviceKeyPair,
  enrolDevice,
  type Fetch,
  signIn,
} from '@matrix/client'
import { createLocalFetch } from '@matrix/client/node'
import { type DaemonFile, routes } from '@matrix/protocol/http'
import { createDaemon, type Daemon, type DaemonOptions } from './daemon.ts'
import { type ScriptedOrchestrator, scriptOrchestrator } from './scripted-orchestrator.testing.ts'

export type TestDaemon = DaemonFile & {
  daemon: Daemon
  orchestrator: ScriptedOrchestrator
  dataDirectory: string
  token: string
  /** With the rights of the daemon's own user. */
  local: Client
  close(): Promise<void>
}

/** A daemon on a port and a folder of its own, with agents that do what the test says. */
export async function startTestDaemon(options: Partial<DaemonOptions> = {}): Promise<TestDaemon> {
  const dataDirectory = options.dataDirectory ?? mkdtempSync(join(tmpdir(), 'mxd-'))
  const orchestrator = scriptOrchestrator()
  const daemon = await createDaemon({
    orchestrator,
    dataDirectory,
    version: '1.2.3',
    port: 0,
    ...options,
  })
  const file = await daemon.listen()
  daemon.markReady()
  const token = readFileSync(file.tokenFile, 'utf8').trim()
  return {
    ...file,
    daemon,
    orchestrator,
    dataDirectory,
    token,
    local: createClient({ baseUrl: file.url, fetch: createLocalFetch(), token, contract: routes }),
    async close() {
      await daemon.close()
      if (!options.dataDirectory) rmSync(dataDirectory, { recursive: true })
    },
  }
}

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string; json(): Record<string, unknown> }

/** One request, with exactly these headers. */
export function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length: Record<string, string> = body === undefined ? {} : { 'content-length': `${Buffer.byteLength(body)}` }
    const outgoing = request(url, { method, headers: { ...length, ...headers }, agent: false }, async (incoming) => {
      let text = ''
      // A stream goes on for ever: its head is enough.
      if (!incoming.headers['content-type']?.startsWith('text/event-stream'))
        for await (const chunk of incoming) text += chunk
      else incoming.destroy()
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: () => JSON.parse(text) })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

export type Browser = { client: Client; deviceId: string; headers: Record<string, string>; key: DeviceKeyPair }

/** A browser that has enrolled with a code and signed in. Keys take a while to make, so that one may be handed in. */
export async function openBrowser(
  { url, daemon }: Pick<TestDaemon, 'url' | 'daemon'>,
  key: DeviceKeyPair | Promise<DeviceKeyPair> = createDeviceKey(),
): Promise<Browser> {
  const keys = await key
  const jar: { cookie?: string } = {}
  let csrfToken: string | undefined
  const client = createClient({
    baseUrl: url,
    fetch: browserFetch(url, jar),
    csrfToken: () => csrfToken,
    contract: routes,
  })
  const { code } = daemon.openEnrolment({ trusted: true })
  const { deviceId } = await enrolDevice(client, { code, name: 'Test', key: keys.publicKey })
  ;({ csrfToken } = await signIn(client, { deviceId, key: keys.privateKey, origin: url }))
  return { client, deviceId, key: keys, headers: { cookie: jar.cookie ?? '', 'x-matrix-csrf': csrfToken } }
}

/** Sends what a page of the daemon would send, and keeps its cookie. */
export function browserFetch(url: string, jar: { cookie?: string }): Fetch {
  return async (target, options) => {
    const cookie: Record<string, string> = jar.cookie ? { cookie: jar.cookie } : {}
    const own = { origin: url, 'sec-fetch-site': 'same-origin' }
    const response = await fetch(target, { ...options, headers: { ...options.headers, ...own, ...cookie } })
    const given = response.headers.getSetCookie()[0]?.split(';', 1)[0]
    if (given) jar.cookie = given
    return response
  }
}
