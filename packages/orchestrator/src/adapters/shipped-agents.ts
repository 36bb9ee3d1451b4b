import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
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
