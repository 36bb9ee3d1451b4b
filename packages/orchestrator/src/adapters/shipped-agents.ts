import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isOwnServer, Manifest, type Server } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'

/**
 * The folder of the manifests that come with Matrix: the nearest `agents` above this file. That is the repository's own when
 * it runs from source, and what the build has put beside the code when it is installed or bundled.
 */
export function findShippedAgents(from: string = fileURLToPath(import.meta.url)): string {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const agents = join(folder, 'agents')
    if (existsSync(join(agents, 'default.json'))) return agents
    if (folder === dirname(folder)) break
  }
  throw new MatrixError('AGENT_UNKNOWN', 'The manifests that come with Matrix are missing.', {
    hint: 'Install Matrix again.',
  })
}

/** Matrix's own tools, as the shipped manifests pin them. */
export async function findOwnServer(folder: string = findShippedAgents()): Promise<Server> {
  const { servers } = await readDefault(folder)
  const own = servers.find(isOwnServer)
  if (own) return own
  throw new MatrixError('AGENT_UNKNOWN', 'The manifests that come with Matrix do not declare its own tools.', {
    hint: 'Install Matrix again.',
  })
}

/** The digests of the servers that the default agent has beside Matrix's own. */
export async function findShippedServers(folder: string = findShippedAgents()): Promise<ReadonlySet<string>> {
  const { servers } = await readDefault(folder)
  return new Set(servers.filter((server) => !isOwnServer(server)).flatMap(({ package_digest: digest }) => digest ?? []))
}

async function readDefault(folder: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(folder, 'default.json'), 'utf8')))
}
