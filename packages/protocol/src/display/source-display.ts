import type { Origin, UntrustedSource } from '../origin.ts'

/** Where untrusted content came from, in a few words. */
export function describeSource({ source, name }: Pick<UntrustedSource, 'source' | 'name'>): string {
  if (source === 'project') return `the project ${name}`
  return source === 'web' ? `the web (${shortName(name)})` : `the tool ${shortName(name)}`
}

/** The same with when it was read, as the reason why the user is asked. */
export function describeLed(led: UntrustedSource): string {
  return `${describeSource(led)}, read ${led.at.slice(0, 16).replace('T', ' ')} UTC (${led.id})`
}

/** The mark of an event whose content is not trusted; nothing for all others. */
export function describeOrigin(origin: Origin | undefined): string | undefined {
  if (!origin || origin.trusted) return undefined
  if (origin.source === 'agent') return origin.from?.length ? 'untrusted' : undefined
  const { source, hosts = [], name = '' } = origin
  const kind = source === 'web' || source === 'project' ? source : 'tool'
  return `untrusted: ${describeSource({ source: kind, name: hosts.join(', ') || name })}`
}

/** `matrix://tool/mcp/fetch/fetch_txt@1.1.2` is `fetch/fetch_txt` to a reader. */
function shortName(name: string): string {
  return name
    .replace(/^matrix:\/\/tool\/mcp\//, '')
    .replace(/@[^@/]*$/, '')
    .replace(/:443(?=,|$)/g, '')
}
