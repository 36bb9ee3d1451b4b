import type { EgressDecision } from './egress-proxy.ts'

/** What the programs of one box asked for, with when that was last, in `performance.now()`. */
export type AskedHosts = {
  note(decision: EgressDecision): void
  /** Those that were refused at or after a moment, in the order in which they were first asked for. */
  refusedSince(moment: number): string[]
  /** Those that were reached by a call that began at this moment, or by what an earlier one left running. */
  takeReached(began: number): string[]
}

/** A program that asks for one host after the other must not fill the memory, nor the result of a call. */
const MAX_HOSTS = 100
/** Stands for those that are no longer told apart. */
const OTHERS = 'other hosts'

export function openAskedHosts(): AskedHosts {
  const refused = new Map<string, number>()
  const reached = new Map<string, number>()
  let accounted = 0
  return {
    note({ missing, reached: host }) {
      const at = performance.now()
      if (missing !== undefined && hasRoom(refused, missing)) refused.set(missing, at)
      if (host !== undefined) reached.set(hasRoom(reached, host) ? host : OTHERS, at)
    },
    refusedSince: (moment) => since(refused, moment),
    takeReached(began) {
      const found = since(reached, Math.min(began, accounted))
      accounted = performance.now()
      return found
    },
  }
}

function hasRoom(hosts: ReadonlyMap<string, number>, host: string): boolean {
  return hosts.size < MAX_HOSTS || hosts.has(host)
}

function since(hosts: ReadonlyMap<string, number>, moment: number): string[] {
  return [...hosts].flatMap(([host, at]) => (at >= moment ? [host] : []))
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
