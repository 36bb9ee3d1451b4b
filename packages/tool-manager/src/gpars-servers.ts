import { type Gpars, matchesRequirement, type Server } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'

type Requirement = { server_id: string; version?: string | undefined }
/** Servers by registry id, as `agents/catalog.json` lists them. */
export type ServerCatalog = { servers: Entry[] }
type Entry = { package?: string; server_id?: string; server: Server }

/**
 * The servers that a GPARS agent asks for, out of a catalogue: by `server_id`, or by an alias that is the last part of
 * it. A required one that is not there is an error, an optional one is left out and said.
 */
export function requiredServers(
  value: unknown,
  catalog: ServerCatalog | undefined,
): { agent: string; description: undefined; servers: Server[]; notes: string[] } {
  const gpars = value as Gpars
  if (!('required_mcp_servers' in gpars))
    throw new MatrixError(
      'DOCUMENT_INVALID',
      'This GPARS manifest says what the agent can do, not which servers it needs.',
      {
        hint: 'Write a Matrix manifest for it.',
      },
    )
  if (!catalog)
    throw new MatrixError(
      'DOCUMENT_INVALID',
      'A GPARS manifest names servers by registry ids, which a catalogue has to resolve.',
      {
        hint: 'Pass --catalog <file>, such as agents/catalog.json.',
      },
    )
  const { servers: entries } = catalog
  const notes: string[] = []
  const required = gpars.required_mcp_servers.map((each) => find(each, entries) ?? missing(each))
  const optional = (gpars.optional_mcp_servers ?? []).flatMap((each) => {
    const found = find(each, entries)
    if (!found) notes.push(`The optional server ${each.server_id} is not in the catalogue and was left out.`)
    return found ? [found] : []
  })
  const name = gpars.id.replace(/[^A-Za-z0-9-]+/g, '-').replace(/^-+|-+$/g, '') || 'imported'
  return {
    agent: `matrix://agent/${name}`,
    description: undefined,
    servers: [...new Set([...required, ...optional])],
    notes,
  }
}

function find(requirement: Requirement, entries: readonly Entry[]): Server | undefined {
  const last = requirement.server_id.replace(/^.*\//, '')
  return entries.find(({ server, server_id = '', package: name = '' }) => {
    const isNamed = server_id === requirement.server_id || server.alias === last || name.endsWith(`/server-${last}`)
    return isNamed && matchesRequirement(requirement, { server_id: requirement.server_id, version: server.version })
  })?.server
}

function missing({ server_id, version }: Requirement): never {
  throw new MatrixError('DOCUMENT_INVALID', `The catalogue has no server for ${server_id} ${version ?? ''}.`, {
    hint: 'Add an entry with that server_id to the catalogue.',
  })
}
