import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { routes } from '@matrix/protocol/http'
import type { Attack, Family, Sighting } from '../attack.ts'
import type { Ground } from '../ground.ts'

type HttpAttack = Attack & { method?: string; path: string; headers?: Record<string, string>; body?: string }

const own = (port: number) => `127.0.0.1:${port}`
const json = { 'content-type': 'application/json' }

/** Every route without a sign-in, then the ways in which a page of somebody else could use the browser of the user. */
function attacksOn(): HttpAttack[] {
  const open = new Set(['health', 'ready', 'challenge', 'answerChallenge', 'enrolDevice'])
  const unauthenticated = Object.entries(routes)
    .filter(([name]) => !open.has(name))
    .map(
      ([name, { method, path }]): HttpAttack => ({
        name: `call ${name} without a sign-in`,
        layer: 'http',
        evidence: /^(401|403|421)/,
        method,
        path: path.replace(/:[a-zA-Z]+/g, 'x'),
        headers: json,
        body: method === 'GET' || method === 'DELETE' ? '' : '{}',
      }),
    )
  const tricks: HttpAttack[] = [
    {
      name: 'rebind a name',
      path: '/api/projects',
      headers: { host: 'evil.example:80' },
      evidence: /^421/,
      layer: 'http',
    },
    { name: 'ask without a host', path: '/api/projects', headers: { host: '' }, evidence: /^4\d\d/, layer: 'http' },
    {
      name: 'ask from another origin',
      path: '/api/projects',
      headers: { origin: 'http://evil.example' },
      evidence: /^403/,
      layer: 'http',
    },
    {
      name: 'ask from a null origin',
      path: '/api/projects',
      headers: { origin: 'null' },
      evidence: /^403/,
      layer: 'http',
    },
    {
      name: 'ask from a name that begins like its own',
      path: '/api/projects',
      headers: { origin: 'http://127.0.0.1.evil.example' },
      evidence: /^403/,
      layer: 'http',
    },
    {
      name: 'post a form',
      path: '/api/projects',
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{}',
      evidence: /^4\d\d/,
      layer: 'http',
    },
    {
      name: 'guess a token',
      path: '/api/projects',
      headers: { authorization: 'Bearer 0000' },
      evidence: /^401/,
      layer: 'http',
    },
    {
      name: 'bring a cookie alone',
      path: '/api/projects',
      headers: { cookie: 'matrix_session=0' },
      evidence: /^401/,
      layer: 'http',
    },
    {
      name: 'climb out of the page',
      path: '/assets/..%2f..%2f..%2f..%2fetc/passwd',
      evidence: /^(4\d\d|200 <!doctype html>)/,
      layer: 'http',
    },
    { name: 'open the stream', path: '/api/events', evidence: /^401/, layer: 'http' },
    { name: 'read the metrics', path: '/metrics', evidence: /^4\d\d/, layer: 'http' },
  ]
  return [...unauthenticated, ...tricks]
}

const attacks = attacksOn()

export const http: Family = {
  name: 'the HTTP interface',
  attacks,
  async run({ data }: Ground) {
    const { port } = new URL(JSON.parse(readFileSync(join(data, 'daemon.json'), 'utf8')).url as string)
    const sightings = new Map<string, Sighting>()
    for (const attack of attacks) sightings.set(attack.name, { text: await send(Number(port), attack) })
    return sightings
  },
}

function send(port: number, { method = 'GET', path, headers, body = '' }: HttpAttack): Promise<string> {
  return new Promise((done, fail) => {
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers: { host: own(port), ...headers } },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
          if (text.length > 10_000) response.destroy()
        })
        response.on('close', () => done(`${response.statusCode} ${text}`))
      },
    )
    sent.on('error', fail).setTimeout(5000, () => sent.destroy(new Error('no answer')))
    sent.end(body)
  })
}
