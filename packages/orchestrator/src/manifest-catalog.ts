import { dirname, join, sep } from 'node:path'
import {
  attenuate,
  checkLock,
  describeLock,
  diffLock,
  diffManifest,
  type Finding,
  formatLock,
  type Lock,
  type Manifest,
  manifestDigest,
  parseDocument,
  placeProblems,
  verifyDocument,
} from '@matrix/manifest'
import { BUILTIN_ALIAS, MatrixError } from '@matrix/protocol'
import * as z from 'zod'
import type { ConfigProject } from './config/config.ts'
import { type Subject, subjectDigest, type Trust } from './config/trust.ts'
import type { World } from './world.ts'

/** A manifest that agents may work by, and the lock beside it. */
export type AgentManifest = {
  name: string
  source: 'repository' | 'user' | 'shipped'
  file: string
  /** Where relative files of the manifest start. */
  base: string
  manifest: Manifest
  lock: Lock | undefined
  /** What was kept beside the lock, so that the same dependencies can be fetched again. */
  lockFiles: Record<string, unknown> | undefined
  /** Where the files of its hooks are kept, if it was added with some. */
  hookRoot: string | undefined
  /** The repository has one of this name too, which was passed over because nobody has approved it. */
  passedOver: UnapprovedAgent | undefined
}

/** A manifest that came with a repository and could do more than the user's own. */
export type UnapprovedAgent = {
  name: string
  file: string
  digest: string
  manifest: Manifest
  /** Servers of which one process serves the tools of every class. */
  keepsState: string[]
  /** What its lock brings beside the manifest; undefined without a lock. */
  locked: (Pick<Lock, 'policy' | 'unavailable' | 'hook_files'> & { words: string[] }) | undefined
  /** The user's own or shipped manifest whose name it would take, and what would be different. */
  replaces: { source: AgentManifest['source']; file: string; differences: string[] } | undefined
}

export type FindOptions = {
  project?: ConfigProject | undefined
  /** The user's own choice (`agent` in the settings): what a repository may use without being asked about. */
  defaultAgent?: string | undefined
}

export type ManifestCatalog = {
  /** The repository's, if it may be used; else the user's; else the one that comes with Matrix. */
  get(name: string, options?: FindOptions): Promise<AgentManifest>
  findUnapproved(name: string, options: FindOptions): Promise<UnapprovedAgent | undefined>
  /** `digest` is that of the manifest the person was shown. */
  approve(project: ConfigProject, name: string, digest: string): Promise<void>
  /** Every agent that can be named, those of a repository first; what cannot be read says why. */
  list(options?: FindOptions): Promise<ListedAgent[]>
  /** Keeps an agent that the user has approved, for a project or for all. */
  install(agent: NewAgent, options: { project?: ConfigProject | undefined; replace: boolean }): Promise<void>
  /** Keeps a lock that a person has agreed to, and its manifest, where the manifest lies; what came with Matrix becomes the user's own. */
  relock(name: string, lock: Lock, options?: FindOptions): Promise<void>
}

export type ListedAgent = { name: string; source: AgentManifest['source']; file: string; isInForce: boolean } & (
  | { agent: AgentManifest; isApproved: boolean }
  | { problem: MatrixError }
)

export type NewAgent = {
  name: string
  lock: Lock
  lockFiles: Record<string, unknown>
  /** Copies the approved files of its hooks; undefined where it has none. */
  keepHookFiles: ((folder: string) => Promise<void>) | undefined
}

export type CatalogOptions = {
  dataDirectory: string
  /** Where the manifests lie that come with Matrix. */
  shippedDirectory: string
  trust: Trust
}

type Place = {
  source: AgentManifest['source']
  directory: string
  inside?: string
}

/** What came with a repository may be a link to anything. */
function placeIn(repository: string): Place {
  return {
    source: 'repository',
    directory: join(repository, '.mxd', 'agents'),
    inside: repository,
  }
}

/** Finds manifests by name. Files are read when asked, and checked each time. */
export function openManifestCatalog({ files }: Pick<World, 'files'>, options: CatalogOptions): ManifestCatalog {
  const { dataDirectory, shippedDirectory, trust } = options
  const ownPlaces = [
    { source: 'user', directory: join(dataDirectory, 'agents') },
    { source: 'shipped', directory: shippedDirectory },
  ] as const

  async function findOwn(name: string): Promise<Found | undefined> {
    for (const { source, directory } of ownPlaces) {
      const found = await read({ directory, source }, name)
      if (found) return found
    }
    return undefined
  }

  async function findTheirs(
    name: string,
    { project, defaultAgent = 'default' }: FindOptions,
  ): Promise<Judged | undefined> {
    const found = project && (await read(placeIn(project.path), name))
    if (!project || !found) return undefined
    const subject = subjectOf(project, found)
    const replaced = (await findOwn(name)) ?? (await findOwn(name.toLowerCase()))
    const isUsable = (await trust.isTrusted(subject)) || (!replaced && isWithin(await findOwn(defaultAgent), found))
    return { found, subject, replaced, isUsable }
  }

  async function findUnapproved(name: string, given: FindOptions): Promise<UnapprovedAgent | undefined> {
    const theirs = await findTheirs(checkName(name), given)
    return theirs && !theirs.isUsable ? toUnapproved(theirs) : undefined
  }

  async function read({ directory, source, inside }: Place, name: string): Promise<Found | undefined> {
    const file = join(directory, `${name}.json`)
    const readText = (path: string) => files.read(path, inside === undefined ? undefined : { inside })
    const text = await readText(file)
    if (text === undefined) return undefined
    const manifest = await checkManifestText(file, text)
    const lockFile = join(directory, `${name}.lock.json`)
    const lockText = await readText(lockFile)
    const lock = lockText === undefined ? undefined : checkLockText(lockFile, lockText, manifest)
    const lockFiles = lock && (await readLockFiles(join(directory, `${name}.lock.dependencies.json`), readText))
    const hookFolder = hookFolderOf(directory, name)
    return {
      name,
      source,
      file,
      base: dirname(file),
      manifest,
      lock,
      lockFiles,
      hookRoot: (await files.isDirectory(hookFolder)) ? hookFolder : undefined,
    }
  }

  async function listPlace(place: Place, given: FindOptions, taken: Set<string>): Promise<ListedAgent[]> {
    const names = (await files.list(place.directory)).flatMap(agentNameIn)
    const listed: ListedAgent[] = []
    for (const name of names) {
      const { source } = place
      const about = { name, source, file: join(place.directory, `${name}.json`) }
      try {
        const found = await read(place, name)
        if (!found) continue
        const theirs = source === 'repository' ? await findTheirs(name, given) : undefined
        const isApproved = theirs?.isUsable ?? true
        const isInForce = isApproved && !taken.has(name)
        if (isApproved) taken.add(name)
        listed.push({ ...about, isInForce, isApproved, agent: { ...found, passedOver: undefined } })
      } catch (error) {
        if (!(error instanceof MatrixError)) throw error
        listed.push({ ...about, isInForce: false, problem: error })
      }
    }
    return listed
  }

  async function write(directory: string, { name, lock, lockFiles, keepHookFiles }: NewAgent): Promise<void> {
    await keepHookFiles?.(hookFolderOf(directory, name))
    await files.write(join(directory, `${name}.lock.dependencies.json`), JSON.stringify(lockFiles))
    await files.write(join(directory, `${name}.json`), `${JSON.stringify(lock.manifest, null, 2)}\n`)
    await files.write(join(directory, `${name}.lock.json`), formatLock(lock))
  }

  async function readLockFiles(
    file: string,
    readText: (path: string) => Promise<string | undefined>,
  ): Promise<Record<string, unknown> | undefined> {
    const text = await readText(file)
    try {
      return text === undefined ? undefined : z.record(z.string(), z.unknown()).parse(JSON.parse(text))
    } catch (cause) {
      throw new MatrixError('DOCUMENT_INVALID', `${file} does not hold the lock files of packages.`, {
        hint: 'Run matrix lock again; it writes the file.',
        cause,
      })
    }
  }

  async function get(name: string, given: FindOptions = {}): Promise<AgentManifest> {
    const theirs = await findTheirs(checkName(name), given)
    if (theirs?.isUsable) return { ...theirs.found, passedOver: undefined }
    const passedOver = theirs && toUnapproved(theirs)
    const own = await findOwn(name)
    if (own) return { ...own, passedOver }
    if (passedOver)
      throw new MatrixError('AGENT_UNAPPROVED', `${passedOver.file} came with the repository and is not approved.`)
    throw new MatrixError('AGENT_UNKNOWN', `There is no manifest "${name}".`, {
      hint: `Put one into ${join(dataDirectory, 'agents', `${name}.json`)}, or use the default one.`,
    })
  }

  return {
    get,
    findUnapproved,
    async list(given = {}) {
      const taken = new Set<string>()
      const places = [...(given.project ? [placeIn(given.project.path)] : []), ...ownPlaces]
      const listed: ListedAgent[] = []
      for (const place of places) listed.push(...(await listPlace(place, given, taken)))
      return listed
    },
    async install(agent, { project, replace }) {
      const place = project ? placeIn(project.path) : ownPlaces[0]
      const file = join(place.directory, `${checkName(agent.name)}.json`)
      // Asked before anything is written: a link that leads out of the repository is refused here.
      if (project) await refuseOutside(files, place.directory, project.path)
      const isThere = (await files.read(file, project && { inside: project.path })) !== undefined
      if (isThere && !replace) throw new MatrixError('AGENT_EXISTS', `${file} exists already.`)
      const isShipped = (await files.read(join(shippedDirectory, `${agent.name}.json`))) !== undefined
      if (isShipped && !replace)
        throw new MatrixError('AGENT_EXISTS', `"${agent.name}" is the name of an agent that comes with Matrix.`)
      await write(place.directory, agent)
      const found = project && (await read(place, agent.name))
      if (!project || !found) return
      const subject = subjectOf(project, found)
      await trust.add(subject, subjectDigest(subject))
    },
    async relock(name, lock, given = {}) {
      const { source, file, lockFiles, manifest: before } = await get(name, given)
      const directory = source === 'shipped' ? join(dataDirectory, 'agents') : dirname(file)
      const { manifest } = lock
      if (source === 'shipped' || manifestDigest(before) !== lock.manifest_digest)
        await files.write(join(directory, `${name}.json`), `${JSON.stringify(manifest, null, 2)}\n`)
      if (source === 'shipped' && lockFiles)
        await files.write(join(directory, `${name}.lock.dependencies.json`), JSON.stringify(lockFiles))
      await files.write(join(directory, `${name}.lock.json`), formatLock(lock))
      // Whoever agrees to the new lock agrees to the manifest that it came with.
      if (source !== 'repository' || !given.project) return
      const subject = subjectOf(given.project, {
        name,
        manifest,
        lock,
        lockFiles,
      })
      await trust.add(subject, subjectDigest(subject))
    },
    async approve(project, name, digest) {
      const theirs = await findTheirs(checkName(name), { project })
      if (!theirs) throw new MatrixError('AGENT_UNKNOWN', `The repository has no manifest "${name}".`)
      await trust.add(theirs.subject, digest)
    },
  }
}

/** The folder itself may not be there yet: what it would be made in decides where it lies. */
async function refuseOutside(files: World['files'], folder: string, inside: string): Promise<void> {
  const real = await files.realPath(folder)
  if (real === undefined) return refuseOutside(files, dirname(folder), inside)
  const root = (await files.realPath(inside)) ?? inside
  if (real === root || real.startsWith(`${root}${sep}`)) return
  throw new MatrixError('STORAGE_FAILED', `Nothing is written to ${folder}: a link leads out of ${inside}.`, {
    hint: 'Make it a folder of the repository, or add the agent for all of your projects.',
  })
}

function hookFolderOf(directory: string, name: string): string {
  return join(directory, `${name}.files`)
}

/** Beside manifests lie their locks, and the catalogue of servers. */
function agentNameIn(file: string): string[] {
  const name = /^(?!catalog\.json$)([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.json$/.exec(file)?.[1]
  return name === undefined ? [] : [name]
}

type Found = Omit<AgentManifest, 'passedOver'>
type Judged = {
  found: Found
  subject: Subject
  replaced: Found | undefined
  isUsable: boolean
}

function toUnapproved({ found, subject, replaced }: Judged): UnapprovedAgent {
  const { name, file, manifest, lock } = found
  const locked = Object.entries(lock?.servers ?? {})
  const keepsState = locked.flatMap(([alias, server]) => ('keeps_state' in server && server.keeps_state ? [alias] : []))
  const replaces = replaced && {
    ...{ source: replaced.source, file: replaced.file },
    differences: differencesOf(replaced, found),
  }
  return {
    name,
    file,
    digest: subjectDigest(subject),
    manifest,
    keepsState,
    locked: lock && lockedPart(lock),
    replaces,
  }
}

function lockedPart(lock: Lock): UnapprovedAgent['locked'] {
  const { policy, unavailable, hook_files } = lock
  const part = { ...(policy && { policy }), ...(unavailable && { unavailable }), ...(hook_files && { hook_files }) }
  return { words: describeLock(lock), ...part }
}

/** A lock that is gone is said first: without it, what a server advertises is not compared with anything. */
function differencesOf(before: Found, after: Found): string[] {
  const dropped = Object.keys(before.lock?.servers ?? {}).filter((alias) => !after.lock?.servers[alias])
  const policy = before.lock?.policy && !after.lock?.policy ? ['The rules of its lock are dropped.'] : []
  const changes =
    before.lock && after.lock ? diffLock(before.lock, after.lock) : diffManifest(before.manifest, after.manifest)
  return [
    ...(dropped.length > 0 ? [`The lock of ${dropped.join(', ')} is dropped.`] : []),
    ...policy,
    ...changes.map(({ message }) => message),
  ]
}

/** The lock too: it says which file of a package is run. */
function subjectOf(
  project: ConfigProject,
  { name, manifest, lock, lockFiles }: Pick<Found, 'name' | 'manifest' | 'lock' | 'lockFiles'>,
): Subject {
  const content = {
    manifest,
    lock: lock ?? null,
    lockFiles: lockFiles ?? null,
  }
  return { kind: 'agent', projectId: project.id, name, content }
}

/**
 * Whether a manifest allows nothing beyond the user's own. One with a lock of its own is always for the user to judge, and so
 * is one without that would use a server which the user's own has locked.
 */
function isWithin(own: Found | undefined, { manifest, lock }: Found): boolean {
  if (!own || lock) return false
  const locked = own.lock?.servers ?? {}
  if (manifest.servers.some(({ alias }) => alias !== BUILTIN_ALIAS && Object.hasOwn(locked, alias))) return false
  // Without a skill of the user's own manifest, an agent would be held to less.
  if ((own.manifest.skills ?? []).some((skill) => !manifest.skills?.includes(skill))) return false
  const words = describedTools(own.manifest)
  if ([...describedTools(manifest)].some(([tool, description]) => words.get(tool) !== description)) return false
  return attenuate({ manifest: own.manifest, policy: own.lock?.policy }, { manifest }).allowed
}

/** What a model is told of each tool decides what it does with it. */
function describedTools({ servers }: Manifest): Map<string, string | undefined> {
  return new Map(
    servers.flatMap(({ alias, tools }) => tools.map((tool) => [`${alias}/${tool.name}`, tool.description])),
  )
}

/** The name becomes a file name, so it must be no way out of the folder. */
function checkName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) return name
  throw new MatrixError('AGENT_UNKNOWN', `${JSON.stringify(name.slice(0, 100))} is not the name of a manifest.`, {
    hint: 'A name has letters, digits, - and _, at most 64 of them.',
  })
}

async function checkManifestText(file: string, text: string): Promise<Manifest> {
  const { format, findings, value } = await verifyDocument(Buffer.from(text))
  refuseErrors(file, findings)
  if (format === 'matrix') return value as Manifest
  throw new MatrixError('DOCUMENT_INVALID', `${file} is not a Matrix manifest.`, {
    hint: 'Turn it into one with matrix import or matrix lock.',
  })
}

function checkLockText(file: string, text: string, manifest: Manifest): Lock {
  const { source, value, findings } = parseDocument(Buffer.from(text))
  refuseErrors(file, findings)
  const { lock, problems } = checkLock(value)
  refuseErrors(file, placeProblems(problems, source, 'default'))
  if (lock && lock.manifest_digest === manifestDigest(manifest)) return lock
  throw new MatrixError('DOCUMENT_INVALID', `${file} locks another manifest than the one beside it.`, {
    hint: 'Run matrix lock again and read the difference.',
  })
}

function refuseErrors(file: string, findings: readonly Finding[]): void {
  const [first, ...more] = findings.filter(({ severity }) => severity === 'error')
  if (!first) return
  const others = more.length > 0 ? ` (and ${more.length} more)` : ''
  throw new MatrixError('DOCUMENT_INVALID', `${file}:${first.line}: ${first.message}${others}`, { hint: first.fix })
}
