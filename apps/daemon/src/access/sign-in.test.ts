import { constants, createHmac, generateKeyPairSync, privateDecrypt } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { createClient, createDeviceKey, type DeviceKeyPair, enrolDevice, signIn } from '@matrix/client'
import { loginProofText, routes } from '@matrix/protocol/http'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ask, browserFetch, openBrowser, startTestDaemon, type TestDaemon } from '../daemon.testing.ts'

let key: DeviceKeyPair
let otherKey: DeviceKeyPair
beforeAll(async () => {
  ;[key, otherKey] = await Promise.all([createDeviceKey(), createDeviceKey()])
}, 60_000)

let daemon: TestDaemon
let now: number
let elapsed: number
beforeEach(async () => {
  now = Date.parse('2026-01-01T00:00:00.000Z')
  elapsed = 0
  daemon = await startTestDaemon({ now: () => now, elapsed: () => elapsed })
})
afterEach(() => daemon.close())

test('a device is enrolled with a code and a look at its fingerprint, signs in by itself, and can be revoked', async () => {
  const { code } = await daemon.local.openEnrolment()
  const { client, signInHere, headers } = browser()
  const enrolled = await enrolDevice(client, { code, name: 'Laptop', key: key.publicKey })
  const early = await signInHere(enrolled.deviceId).catch((error) => error.code)
  const [waiting] = await daemon.local.listDevices()
  await daemon.local.confirmDevice({ deviceId: enrolled.deviceId })
  await signInHere(enrolled.deviceId)
  const [seen] = await client.listDevices()
  await daemon.local.revokeDevice({ deviceId: enrolled.deviceId })

  expect([enrolled.state, early]).toEqual(['waiting', 'AUTH_FAILED'])
  expect(waiting).toMatchObject({ id: enrolled.deviceId, name: 'Laptop', state: 'waiting', isThisOne: false })
  expect(seen).toMatchObject({ state: 'enrolled', isThisOne: true })
  expect((await ask(`${daemon.url}/api/projects`, { headers: headers() })).status).toBe(401)
  await expect(signInHere(enrolled.deviceId)).rejects.toMatchObject({ code: 'AUTH_FAILED' })
})

test('devices are kept in a file that only its owner can read, and survive a restart', async () => {
  const { deviceId } = await openBrowser(daemon, key)
  const file = join(daemon.dataDirectory, 'devices.json')
  const mode = statSync(file).mode & 0o777
  const again = await startTestDaemon({ dataDirectory: daemon.dataDirectory, now: () => now })
  const { client } = browser(again.url)
  const session = await signIn(client, { deviceId, key: key.privateKey, origin: again.url })

  expect(mode).toBe(0o600)
  expect(session.csrfToken).toHaveLength(43)
  await again.close()
})

test('a damaged list of devices is put aside, and the daemon starts without devices', async () => {
  const file = join(daemon.dataDirectory, 'devices.json')
  writeFileSync(file, '{"version":1,"devices":[{')
  const again = await startTestDaemon({ dataDirectory: daemon.dataDirectory })

  expect(await again.local.listDevices()).toEqual([])
  expect(readFileSync(`${file}.damaged`, 'utf8')).toContain('"version":1')
  await again.close()
})

test('a revocation that the disk refused keeps the device out, and can be repeated', async () => {
  const { deviceId } = await openBrowser(daemon, key)
  const revoke = () => daemon.local.revokeDevice({ deviceId })
  const obstacle = join(daemon.dataDirectory, 'devices.json.new')
  // The sign-in is answered before its time is on disk, and that write uses the same name.
  await expect.poll(async () => (await daemon.local.listDevices())[0]?.lastSeenAt).not.toBeNull()
  mkdirSync(obstacle)
  const failed = await revoke().catch((error) => error.code)
  const signedIn = await browser()
    .signInHere(deviceId)
    .catch((error) => error.code)
  const listed = await daemon.local.listDevices()
  rmdirSync(obstacle)
  await revoke()

  expect([failed, signedIn, listed.length]).toEqual(['STORAGE_FAILED', 'AUTH_FAILED', 1])
  expect(JSON.parse(readFileSync(join(daemon.dataDirectory, 'devices.json'), 'utf8')).devices).toEqual([])
  await expect(revoke()).rejects.toMatchObject({ code: 'DEVICE_UNKNOWN' })
})

test('a device that is refused at the terminal is gone', async () => {
  const { code } = await daemon.local.openEnrolment()
  const { deviceId } = await enrolDevice(browser().client, { code, name: 'Thief', key: key.publicKey })
  await daemon.local.revokeDevice({ deviceId })

  expect(await daemon.local.listDevices()).toEqual([])
  await expect(daemon.local.confirmDevice({ deviceId })).rejects.toMatchObject({ code: 'DEVICE_UNKNOWN' })
})

test('a code works once, for five minutes, however people type it', async () => {
  const enrol = (code: string) => enrolDevice(browser().client, { code, name: 'x', key: key.publicKey })
  const { code } = await daemon.local.openEnrolment()
  await enrol(` ${code.slice(0, 5).toLowerCase()}-${code.slice(5)} `)
  const twice = await enrol(code).catch((error) => error.code)
  const { code: late } = await daemon.local.openEnrolment()
  elapsed += 5 * 60_000

  expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{10}$/)
  expect(twice).toBe('AUTH_FAILED')
  await expect(enrol(late)).rejects.toMatchObject({ code: 'AUTH_FAILED' })
})

test('five wrong codes close the window, and nobody can go on guessing', async () => {
  const { code } = await daemon.local.openEnrolment()
  const enrol = (guess: string) =>
    enrolDevice(browser().client, { code: guess, name: 'x', key: key.publicKey }).catch((error) => error.code)
  const answers: unknown[] = []
  for (let n = 0; n < 5; n += 1) answers.push(await enrol('AAAAAAAAAA'))
  answers.push(await enrol(code))
  for (let n = 0; n < 5; n += 1) answers.push(await enrol('AAAAAAAAAA'))

  expect(answers).toEqual([...Array(10).fill('AUTH_FAILED'), 'RATE_LIMITED'])
})

test('weak and foreign keys are refused, and the code is not spent on them', async () => {
  const { code } = await daemon.local.openEnrolment()
  const send = (jwk: unknown) =>
    ask(`${daemon.url}/api/auth/devices`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code, name: 'x', key: jwk }),
    })
  const small = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const { n } = await crypto.subtle.exportKey('jwk', key.publicKey)
  const statuses = await Promise.all([
    send(small),
    send(curve),
    send({ kty: 'RSA', n, e: 'Aw' }),
    send({ kty: 'RSA', n: '!', e: '!' }),
  ])

  expect(statuses.map(({ status }) => status)).toEqual([400, 400, 400, 400])
  await enrolDevice(browser().client, { code, name: 'x', key: key.publicKey })
})

test('an answer holds for one challenge, one device, one origin, one minute and one time', async () => {
  const { deviceId } = await openBrowser(daemon, key)
  const pem = generateKeyPairSync('rsa', { modulusLength: 3072 })
  const known = await enrolNode(pem.publicKey.export({ format: 'jwk' }))
  const answer = async (change: { origin?: string; device?: string; late?: boolean; twice?: boolean } = {}) => {
    const { challengeId, ciphertext } = await daemon.local.challenge({ body: { deviceId: known } })
    const nonce = privateDecrypt(
      {
        key: pem.privateKey,
        padding: constants.RSA_PKCS1_OAEP_PADDING,
        oaepHash: 'sha256',
        oaepLabel: Buffer.from('matrix-login:v1'),
      },
      Buffer.from(ciphertext, 'base64'),
    )
    const device = change.device ?? known
    const text = loginProofText(challengeId, device, change.origin ?? daemon.url)
    const proof = createHmac('sha256', nonce).update(text).digest('base64')
    if (change.late) elapsed += 60_000
    const send = () =>
      ask(`${daemon.url}/api/auth/answer`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: daemon.url },
        body: JSON.stringify({ challengeId, deviceId: device, proof }),
      })
    const first = await send()
    return change.twice ? (await send()).status : first.status
  }

  expect(await answer()).toBe(200)
  expect(await answer({ origin: 'https://evil.example' })).toBe(403)
  expect(await answer({ device: deviceId })).toBe(403)
  expect(await answer({ late: true })).toBe(403)
  expect(await answer({ twice: true })).toBe(403)
}, 60_000)

test('a challenge for an unknown device looks like any other', async () => {
  const { deviceId } = await openBrowser(daemon, key)
  const [known, unknown] = await Promise.all([
    daemon.local.challenge({ body: { deviceId } }),
    daemon.local.challenge({ body: { deviceId: 'f'.repeat(64) } }),
  ])

  expect(unknown.challengeId).toHaveLength(known.challengeId.length)
  expect(unknown.ciphertext).toHaveLength(known.ciphertext.length)
})

test('a flood of sign-ins is stopped, and keeps neither an enrolled device nor another source out', async () => {
  const { deviceId } = await openBrowser(daemon, key)
  const stranger = { deviceId: 'f'.repeat(64) }
  const statuses: number[] = []
  for (let n = 0; n < 70; n += 1) statuses.push(await post('/api/auth/challenge', stranger))
  const answers: number[] = []
  for (let n = 0; n < 5; n += 1)
    answers.push(await post('/api/auth/answer', { ...stranger, challengeId: 'x', proof: 'AAAA' }))

  expect(statuses).toEqual([...Array(64).fill(200), ...Array(6).fill(429)])
  expect(answers).toEqual(Array(5).fill(429))
  expect(await post('/api/auth/challenge', stranger, '127.0.0.2')).toBe(200)
  await browser().signInHere(deviceId)
})

test('challenges that nobody answers use nothing up', async () => {
  const { deviceId } = await openBrowser(daemon, key)
  const another = await openBrowser(daemon, otherKey)
  for (let n = 0; n < 50; n += 1) {
    await daemon.local.challenge({ body: { deviceId } })
    await daemon.local.challenge({ body: { deviceId: another.deviceId } })
  }

  await browser().signInHere(deviceId)
})

test('wrong codes from one source do not close the enrolment of another', async () => {
  const { code } = await daemon.local.openEnrolment()
  const jwk = await crypto.subtle.exportKey('jwk', key.publicKey)
  const guess = { code: 'AAAAAAAAAA', name: 'x', key: { kty: jwk.kty, n: jwk.n, e: jwk.e } }
  const guesses: number[] = []
  for (let n = 0; n < 12; n += 1) guesses.push(await post('/api/auth/devices', guess, '127.0.0.2'))

  expect(guesses).toEqual([...Array(10).fill(403), 429, 429])
  expect(await enrolDevice(browser().client, { code, name: 'x', key: key.publicKey })).toMatchObject({
    state: 'waiting',
  })
})

test('a clock that is set back makes no code valid for longer, and keeps nobody out', async () => {
  const failure = (asked: Promise<unknown>) => asked.then(() => 'none').catch((error) => error.code)
  const challenge = () => failure(daemon.local.challenge({ body: { deviceId: 'f'.repeat(64) } }))
  const enrol = (code: string) => failure(enrolDevice(browser().client, { code, name: 'x', key: key.publicKey }))
  for (let n = 0; n < 64; n += 1) await challenge()
  for (let n = 0; n < 10; n += 1) await enrol('AAAAAAAAAA')
  const { code, expiresAt } = await daemon.local.openEnrolment()
  const flooded = [await challenge(), await enrol(code)]
  now -= 24 * 60 * 60_000
  elapsed += 5 * 60_000

  expect(expiresAt).toBe('2026-01-01T00:05:00.000Z')
  expect(flooded).toEqual(['RATE_LIMITED', 'RATE_LIMITED'])
  expect([await challenge(), await enrol(code)]).toEqual(['none', 'AUTH_FAILED'])
})

test('a session ends after twelve idle hours, and after seven days in any case', async () => {
  const { headers } = await openBrowser(daemon, key)
  const status = async (given: Record<string, string>) =>
    (await ask(`${daemon.url}/api/projects`, { headers: given })).status
  daemon.orchestrator.answer('listProjects', [])
  const hours = 60 * 60_000
  const used: number[] = []
  for (let n = 0; n < 15; n += 1) {
    now += 11 * hours
    used.push(await status(headers))
  }
  now += 5 * hours
  const afterAWeek = await status(headers)
  const later = await openBrowser(daemon, key)
  const before = await status(later.headers)
  now += 13 * hours

  expect(used).toEqual(Array(15).fill(200))
  expect(afterAWeek).toBe(401)
  expect([before, await status(later.headers)]).toEqual([200, 401])
})

test('two tabs of one browser share a session instead of signing each other out', async () => {
  const { client, deviceId, headers } = await openBrowser(daemon, key)
  daemon.orchestrator.answer('listProjects', [])
  const { csrfToken } = await signIn(client, { deviceId, key: key.privateKey, origin: daemon.url })

  expect(csrfToken).toBe(headers['x-matrix-csrf'])
  expect((await ask(`${daemon.url}/api/projects`, { headers })).status).toBe(200)
})

test('a cookie that another device planted is not taken over', async () => {
  const first = await openBrowser(daemon, key)
  const second = await openBrowser(daemon, otherKey)
  const jar = { cookie: first.headers.cookie ?? '' }
  const client = createClient({ baseUrl: daemon.url, fetch: browserFetch(daemon.url, jar) })
  await signIn(client, { deviceId: second.deviceId, key: otherKey.privateKey, origin: daemon.url })

  expect(jar.cookie).not.toBe(first.headers.cookie)
})

test('the cookie is out of reach of scripts and other sites, and named after the port', async () => {
  const { client, deviceId, key: own } = await openBrowser(daemon, key)
  let cookie = ''
  const spy = createClient({
    baseUrl: daemon.url,
    fetch: async (url, options) => {
      const response = await fetch(url, options)
      cookie = response.headers.getSetCookie()[0] ?? cookie
      return response
    },
  })
  await signIn(spy, { deviceId, key: own.privateKey, origin: daemon.url })

  expect(cookie).toMatch(new RegExp(`^matrix_session_${daemon.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`))
  await client.signOut()
})

test('through the socket, whoever can enter its folder needs no token', async () => {
  const { connectLocal } = await import('@matrix/client/node')
  writeFileSync(join(daemon.dataDirectory, 'daemon.json'), JSON.stringify(fileOf(daemon)))
  const client = await connectLocal(daemon.dataDirectory)

  expect((await client.getStatus()).pid).toBe(process.pid)
  expect(statSync(join(daemon.dataDirectory, 'run')).mode & 0o777).toBe(0o700)
  expect(statSync(daemon.tokenFile).mode & 0o777).toBe(0o600)
})

function browser(url = daemon.url) {
  const jar: { cookie?: string } = {}
  let csrfToken = ''
  const client = createClient({
    baseUrl: url,
    fetch: browserFetch(url, jar),
    csrfToken: () => csrfToken,
    contract: routes,
  })
  return {
    client,
    async signInHere(deviceId: string) {
      ;({ csrfToken } = await signIn(client, { deviceId, key: key.privateKey, origin: url }))
    },
    headers: () => ({ cookie: jar.cookie ?? '', 'x-matrix-csrf': csrfToken }),
  }
}

/** A request as a program on another machine would send it: from this address. */
function post(path: string, body: unknown, localAddress = '127.0.0.1'): Promise<number> {
  return new Promise((done, fail) => {
    const headers = { 'content-type': 'application/json', origin: daemon.url }
    const sent = request(`${daemon.url}${path}`, { method: 'POST', headers, localAddress }, (response) => {
      response.resume().on('end', () => done(response.statusCode ?? 0))
    })
    sent.on('error', fail).end(JSON.stringify(body))
  })
}

async function enrolNode({ n = '', e = '' }: { n?: string; e?: string }): Promise<string> {
  const { code } = daemon.daemon.openEnrolment({ trusted: true })
  const { deviceId } = await daemon.local.enrolDevice({ body: { code, name: 'Node', key: { kty: 'RSA', n, e } } })
  return deviceId
}

function fileOf({ pid, startedAt, version, url, port, socket, tokenFile, args }: TestDaemon) {
  return { pid, startedAt, version, url, port, socket, tokenFile, args }
}
