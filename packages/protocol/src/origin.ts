import * as z from 'zod'

/** Where untrusted content came into a conversation: the call or message that brought it, and its source. */
export const UntrustedSource = z.object({
  source: z.enum(['tool', 'web', 'project']),
  /** The hosts, the tool or the project. */
  name: z.string(),
  taskId: z.string(),
  /** The id of the call or of the message. */
  id: z.string(),
  at: z.iso.datetime(),
})
export type UntrustedSource = z.infer<typeof UntrustedSource>

/** Where the content of an event came from, as Matrix itself knows it, and whether that source is trusted. */
export const Origin = z.object({
  source: z.enum(['user', 'repository', 'tool', 'web', 'project', 'agent', 'matrix']),
  trusted: z.boolean(),
  /** The address of a tool, the id of a task, the name of a project. */
  name: z.string().optional(),
  /** The digest of the package that the tool's server was started from. */
  digest: z.string().optional(),
  /** What was reached through the proxy meanwhile. */
  hosts: z.array(z.string()).optional(),
  /** For what carries untrusted content into a conversation: where that came from. */
  from: z.array(UntrustedSource).optional(),
})
export type Origin = z.infer<typeof Origin>

/** So many sources are told apart; the first are those that count, because everything after them is marked already. */
const MAX_SOURCES = 20

/** Each source once, at the event that brought it first. The same array when nothing is new. */
export function mergeSources(known: readonly UntrustedSource[], more: readonly UntrustedSource[]): UntrustedSource[] {
  const merged = [...known]
  for (const each of more)
    if (!merged.some(({ source, name }) => source === each.source && name === each.name)) merged.push(each)
  return merged.slice(0, MAX_SOURCES)
}

/** Everything untrusted that these events brought into their conversation. */
export function findUntrusted(events: readonly object[]): UntrustedSource[] {
  return events.reduce<UntrustedSource[]>((known, event) => {
    const { origin } = event as { origin?: Origin }
    return origin?.from ? mergeSources(known, origin.from) : known
  }, [])
}
