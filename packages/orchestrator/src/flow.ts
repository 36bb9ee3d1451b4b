import { mergeSources, type UntrustedSource } from '@matrix/protocol'

/** What can carry private data out of a conversation, or hand its content on. */
export const flowActions = ['host', 'server', 'project', 'agent', 'autorun'] as const
export type FlowAction = (typeof flowActions)[number]

export type FlowRule = 'allow' | 'ask' | 'deny'
export type FlowTable = Record<FlowAction, FlowRule>

/** What holds where the user says nothing. The repository counts as private, so every conversation holds private data. */
const defaultFlow: FlowTable = { host: 'ask', server: 'ask', project: 'ask', agent: 'ask', autorun: 'ask' }

/** The user's words for every agent, then those for one by its name. */
export type FlowSettings = Record<string, Partial<FlowTable>>

export function flowTableOf(settings: FlowSettings, agent: string): FlowTable {
  return { ...defaultFlow, ...settings['*'], ...settings[agent] }
}

/** Something that an agent is about to do, and the words for it. */
export type Flow = {
  action: FlowAction
  what: string
  /** What is handed on carries this beside what its conversation holds. */
  carries?: readonly UntrustedSource[] | undefined
}

/** `led` is what the user is shown: where the untrusted content came from. */
export type FlowVerdict = { verdict: 'ask' | 'deny'; reason: string; led: UntrustedSource[] }

/** Decides about one action in a conversation. Nothing untrusted in it, nothing to ask. */
export function checkFlow(
  { action, what, carries = [] }: Flow,
  { untrusted = [], table }: { untrusted?: readonly UntrustedSource[] | undefined; table: FlowTable },
): FlowVerdict | undefined {
  const rule = table[action]
  const led = mergeSources(untrusted, carries)
  if (led.length === 0 || rule === 'allow') return undefined
  return { verdict: rule, reason: `${what} Untrusted content was read before.`, led }
}

/** The hosts that commands reach: once untrusted content is there, only those that the user has named. */
export function hostsAfter(
  hosts: readonly string[],
  { untrusted = [], table }: { untrusted?: readonly UntrustedSource[] | undefined; table: FlowTable },
): string[] {
  return untrusted.length === 0 || table.host === 'allow' ? [...hosts] : hosts.filter((host) => host !== '*')
}
