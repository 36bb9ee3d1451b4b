import type { EgressDecision } from './egress-proxy.ts'

/** What the programs of one box asked for and were refused, with when that was last. */
export type RefusedHosts = {
  note(decision: EgressDecision): void
  /** Those that were refused at or after a moment of `performance.now()`, in the order in which they were first asked for. */
  since(moment: number): string[]
}

/** A program that asks for one host after the other must not fill the memory, nor the result of a call. */
const MAX_HOSTS = 100

export function openRefusedHosts(): RefusedHosts {
  const refused = new Map<string, number>()
  return {
    note({ missing }) {
      if (missing === undefined || (refused.size >= MAX_HOSTS && !refused.has(missing))) return
      refused.set(missing, performance.now())
    },
    since: (moment) => [...refused].flatMap(([host, at]) => (at >= moment ? [host] : [])),
  }
}

const MAX_NAMED = 10

/** What the result of a command says about them. */
export function describeRefused(hosts: readonly string[], { mayAsk }: { mayAsk: boolean }): string {
  const named = hosts.slice(0, MAX_NAMED).join(', ')
  const more = hosts.length > MAX_NAMED ? ` and ${hosts.length - MAX_NAMED} more` : ''
  const [verb, each] = hosts.length === 1 ? ['was', 'it'] : ['were', 'each']
  const next = mayAsk ? `Ask for ${each} with request_access.` : 'This agent may not use the network.'
  return `[network: ${named}${more} ${verb} refused. ${next}]`
}
