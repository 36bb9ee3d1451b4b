import {
  createLock,
  digestValue,
  formatDefinitionFinding,
  importServers,
  type Lock,
  type Manifest,
  manifestDigest,
  type ServerDraft,
  SideEffect,
} from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import { type LockFiles, type PinnedServer, placeFiles, soundLock } from '@matrix/tool-manager'
import * as z from 'zod'
import type { ConfigProject } from './config/config.ts'
import type { McpServerConfig } from './config/settings.ts'
import type { World } from './world.ts'

/** A server of the settings that a person has agreed to: a lock of its own, made from exactly this entry. */
export type AgreedServer = { alias: string; entry: string; lock: Lock; lockFiles: LockFiles }

/** What a person is asked to agree to: the server with its tools, the class of each and where that comes from. */
export type ServerProposal = AgreedServer & Pick<PinnedServer, 'classes'> & { suspicions: string[] }

/** The servers of the settings that were agreed to, in a file that outlives the daemon. */
export type AgreedServers = {
  list(): Promise<AgreedServer[]>
  keep(server: AgreedServer): Promise<void>
}

const Kept = z.strictObject({
  servers: z.record(
    z.string(),
    z.strictObject({ entry: z.string(), lock: z.unknown(), lockFiles: z.record(z.string(), z.unknown()) }),
  ),
})

export function openAgreedServers({ files }: Pick<World, 'files'>, file: string): AgreedServers {
  let tail: Promise<unknown> = Promise.resolve()

  async function list(): Promise<AgreedServer[]> {
    const text = await files.read(file)
    if (text === undefined) return []
    try {
      const { servers } = Kept.parse(JSON.parse(text))
      return Object.entries(servers).map(([alias, kept]) => ({ alias, ...kept, lock: soundLock(kept.lock) }))
    } catch (cause) {
      throw new MatrixError('DOCUMENT_INVALID', `${file} is not what Matrix wrote there.`, {
        hint: 'Remove it; the servers of the settings are then put before you again.',
        cause,
      })
    }
  }

  return {
    list,
    keep(server) {
      const done = tail.then(async () => {
        const others = (await list()).filter(({ alias }) => alias !== server.alias)
        const kept = [...others, server].map(({ alias, entry, lock, lockFiles }) => [alias, { entry, lock, lockFiles }])
        await files.write(file, `${JSON.stringify({ servers: Object.fromEntries(kept) }, null, 1)}\n`)
      })
      tail = done.catch(() => {})
      return done
    },
  }
}

/** The same words in another project lead to other files, so they are another entry there. */
export function entryDigest({ id, path }: ConfigProject, alias: string, config: McpServerConfig): string {
  return digestValue({ projectId: id, path, alias, config })
}

/** An entry of the settings as a server that can be pinned. Relative files start at the repository, wherever the agent works. */
export function draftOf({ path }: ConfigProject, alias: string, config: McpServerConfig): ServerDraft {
  const { manifest } = importServers({ mcpServers: { [alias]: config } })
  const [draft] = manifest.servers
  if (draft?.transport !== 'stdio') throw new MatrixError('CONFIG_INVALID', `The server "${alias}" cannot be started.`)
  return placeFiles({ ...draft, alias }, path)
}

/** The generated manifest of one server, locked. What hides in a definition or contradicts itself is not offered to anybody. */
export function proposeServer(entry: string, pinned: PinnedServer, lockFiles: LockFiles): ServerProposal {
  const { server, resolved, classes, cuts, findings } = pinned
  const suspicions = [...findings.map(formatDefinitionFinding), ...cuts]
  const { alias } = server
  const manifest: Manifest = {
    schema_version: 1,
    agent: `matrix://agent/${alias.replaceAll('_', '-')}`,
    allowed_side_effects: SideEffect.options.filter((effect) => classes.some((each) => each.class === effect)),
    servers: [server],
  }
  const lock = createLock({ source: { format: 'config', digest: entry }, manifest, servers: { [alias]: resolved } })
  return { alias, entry, lock: soundLock(lock), lockFiles, classes, suspicions }
}

type Locked = { manifest: Manifest; lock?: Lock | undefined; lockFiles?: LockFiles | undefined }

/** A manifest with the agreed servers beside its own. What it allows stays what it was: a tool beyond that cannot be called. */
export function addServers<Given extends Locked>(
  given: Given,
  agreed: readonly AgreedServer[],
): Omit<Given, keyof Locked> & Locked {
  if (agreed.length === 0) return given
  const manifest: Manifest = {
    ...given.manifest,
    servers: [...given.manifest.servers, ...agreed.flatMap(({ lock }) => lock.manifest.servers)],
  }
  const lock: Lock = {
    lock_version: 1,
    source: given.lock?.source ?? { format: 'matrix', digest: digestValue(given.manifest) },
    manifest,
    manifest_digest: manifestDigest(manifest),
    servers: Object.assign({}, given.lock?.servers, ...agreed.map(({ lock: { servers } }) => servers)),
    ...(given.lock?.policy && { policy: given.lock.policy }),
  }
  const lockFiles: LockFiles = Object.assign({}, given.lockFiles, ...agreed.map((each) => each.lockFiles))
  return { ...given, manifest, lock, lockFiles }
}
