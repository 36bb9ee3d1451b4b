import type { IncomingMessage } from 'node:http'
import { MatrixError } from '@matrix/protocol'

/** Where the daemon is reached by a browser: its scheme, and every `host:port` that means it. */
export type Address = { scheme: 'http' | 'https'; hosts: ReadonlySet<string> }

/**
 * Refuses what no page of the daemon itself would send: a name that was made to point here, another origin, another port of
 * this machine. Everything is compared whole; nothing is searched for.
 */
export function checkRequest(request: IncomingMessage, { scheme, hosts }: Address): { origin: string } {
  const { host, origin } = request.headers
  if (countHeader(request, 'host') !== 1 || host === undefined || !hosts.has(host))
    throw new MatrixError('HOST_REFUSED', `This daemon does not answer for ${quote(host)}.`)

  const own = `${scheme}://${host}`
  if (origin !== undefined && origin !== own)
    throw new MatrixError('ORIGIN_REFUSED', `Requests from ${quote(origin)} are refused.`)

  const site = request.headers['sec-fetch-site']
  const isNavigation = request.method === 'GET' && site === 'none'
  if (site !== undefined && site !== 'same-origin' && !isNavigation)
    throw new MatrixError('ORIGIN_REFUSED', 'Requests from other pages are refused.')
  return { origin: own }
}

function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length
}

function quote(text: string | undefined): string {
  return text === undefined ? 'nobody' : JSON.stringify(text.slice(0, 100))
}
