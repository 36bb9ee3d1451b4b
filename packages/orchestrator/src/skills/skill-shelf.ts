import { diffText, type SkillLimit } from '@matrix/manifest'
import { MatrixError } from '@matrix/protocol'
import type { SkillDetail, SkillView } from '@matrix/protocol/http'
import * as z from 'zod'
import type { World } from '../world.ts'
import { digestFiles, readContent, type SkillContent } from './skill-content.ts'

export type SkillFile = { path: string; bytes: Buffer; isExecutable: boolean }

export type SkillFolder = {
  name: string
  path: string
  /** As it is shown: relative to the repository, or below `~`. */
  shown: string
  source: 'home' | 'repository'
  /** What no link may lead out of. */
  inside: string
}

/** The folders of skills, wherever they lie. */
export type SkillFolders = {
  find(): Promise<SkillFolder[]>
  read(folder: SkillFolder): Promise<SkillFile[]>
  /** Keeps a copy of exactly these bytes; answers where. */
  keep(name: string, files: readonly SkillFile[]): Promise<string>
  readKept(name: string): Promise<{ path: string; files: SkillFile[] }>
}

/** A skill whose bytes were approved, from the copy that was made then. */
export type PinnedSkill = SkillContent & { digest: string; path: string; files: readonly SkillFile[] }

export type SkillShelf = {
  list(): Promise<SkillView[]>
  show(name: string): Promise<SkillDetail>
  /** `digest` is that of the files the user was shown. */
  approve(name: string, digest: string): Promise<SkillView>
  /** The copy that may be used, or undefined where the user has to approve the files first. */
  use(name: string): Promise<PinnedSkill | undefined>
  /** What a skill holds calls to. One that was never approved allows nothing. */
  limitOf(name: string): SkillLimit
  /** Throws where one of these cannot be used. */
  require(names: readonly string[]): Promise<void>
}

const Kept = z.strictObject({ skills: z.record(z.string(), z.strictObject({ digest: z.string() })) })

/** All skills of a project together. */
const MAX_READ = 64 << 20

type Found = { view: SkillView; files: readonly SkillFile[] }

/** The skills of one project: found each time, used from the copy that was approved. */
export function openSkillShelf(
  { files }: Pick<World, 'files'>,
  { folders, file, onApproved }: { folders: SkillFolders; file: string; onApproved(): void },
): SkillShelf {
  const pins = new Map<string, PinnedSkill>()
  let tail: Promise<unknown> = Promise.resolve()
  let loading: Promise<void> | undefined

  /** A copy that is not what was approved any more is none. */
  async function load(): Promise<void> {
    const text = await files.read(file)
    const { skills } = text === undefined ? { skills: {} } : Kept.parse(JSON.parse(text))
    for (const [name, { digest }] of Object.entries(skills)) {
      const kept = await folders.readKept(copyName(name, digest)).catch(() => undefined)
      if (kept && digestFiles(kept.files) === digest)
        pins.set(name, { ...readContent(name, kept.files), ...kept, digest, name })
    }
  }

  const loaded = () => {
    loading ??= load()
    return loading
  }

  /** With the files of the one that is wanted only: those of all may be more than the machine has memory for. */
  async function findAll(wanted?: string): Promise<Found[]> {
    await loaded()
    const all = new Map<string, Found>()
    let bytes = 0
    for (const folder of await folders.find()) {
      const { view, files: read } = await look(folder, bytes)
      bytes += read.reduce((sum, each) => sum + each.bytes.length, 0)
      if (!all.has(view.name)) all.set(view.name, { view, files: view.name === wanted ? read : [] })
    }
    return [...all.values()]
  }

  async function look(folder: SkillFolder, before: number): Promise<Found> {
    const { name, source, shown } = folder
    try {
      if (before > MAX_READ) throw notRead(shown)
      const read = await folders.read(folder)
      const content = readContent(name, read)
      const digest = digestFiles(read)
      const { description, notes, allows } = content
      const state = content.isInvalid ? 'invalid' : stateOf(content.name, digest, source)
      return {
        view: { name: content.name, description, source, folder: shown, state, digest, notes, allows },
        files: read,
      }
    } catch (error) {
      if (!(error instanceof MatrixError)) throw error
      const view: SkillView = {
        name,
        description: '',
        source,
        folder: shown,
        state: 'invalid',
        digest: null,
        notes: [error.message],
        allows: null,
      }
      return { view, files: [] }
    }
  }

  /** The user's own is good when it is first met; from then on a change of it is asked about too. */
  function stateOf(name: string, digest: string, source: SkillFolder['source']): SkillView['state'] {
    const pinned = pins.get(name)
    if (pinned) return pinned.digest === digest ? 'ready' : 'changed'
    return source === 'home' ? 'ready' : 'unapproved'
  }

  async function findOne(name: string): Promise<Found> {
    const all = await findAll(name)
    const found = all.find(({ view }) => view.name === name)
    if (found) return found
    const known = all.map(({ view }) => view.name).join(', ')
    throw new MatrixError(
      'SKILL_UNKNOWN',
      `There is no skill ${JSON.stringify(name.slice(0, 64))}. Skills: ${known || 'none'}.`,
    )
  }

  function pin({ view, files: read }: Found): Promise<PinnedSkill> {
    const { name, digest } = view
    if (view.state === 'invalid' || digest === null)
      throw new MatrixError('SKILL_INVALID', `The skill "${name}" cannot be used. ${view.notes.join(' ')}`)
    const done = tail.then(async () => {
      const path = await folders.keep(copyName(name, digest), read)
      const pinned = { ...readContent(name, read), name, digest, path, files: read }
      const kept = [...pins]
        .filter(([other]) => other !== name)
        .map(([other, each]) => [other, { digest: each.digest }])
      const skills = Object.fromEntries([...kept, [name, { digest }]])
      await files.write(file, `${JSON.stringify({ skills }, null, 1)}\n`)
      pins.set(name, pinned)
      return pinned
    })
    tail = done.catch(() => {})
    return done
  }

  async function use(name: string): Promise<PinnedSkill | undefined> {
    const found = await findOne(name)
    if (found.view.state === 'ready') return pins.get(name) ?? pin(found)
    if (found.view.state === 'invalid') await pin(found)
    return undefined
  }

  return {
    list: async () => (await findAll()).map(({ view }) => view),
    use,
    async show(name) {
      const { view, files: read } = await findOne(name)
      return { ...view, files: compareFiles(pins.get(name)?.files, read) }
    },
    async approve(name, digest) {
      const found = await findOne(name)
      if (found.view.digest !== digest)
        throw new MatrixError('APPROVAL_UNKNOWN', `The skill "${name}" is no longer what was shown.`, {
          hint: 'Look at it again, then approve what is there now.',
        })
      await pin(found)
      onApproved()
      return { ...found.view, state: 'ready' }
    },
    limitOf: (name) => pins.get(name)?.limit ?? { name, tools: new Set(), grants: undefined },
    async require(names) {
      await loaded()
      for (const name of names) {
        // What is attached holds by the copy that was approved, whatever lies in the folder by now.
        if (pins.has(name) || (await use(name))) continue
        throw new MatrixError('SKILL_UNAPPROVED', `The skill "${name}" is not approved.`)
      }
    },
  }
}

function notRead(shown: string): MatrixError {
  const message = `The skill folder ${shown} was not read: those before it hold more than ${MAX_READ >> 20} MiB.`
  return new MatrixError('SKILL_INVALID', message)
}

function copyName(name: string, digest: string): string {
  return `${name}-${digest.replace('sha256:', '').slice(0, 16)}`
}

const MAX_SHOWN = 100_000

function compareFiles(before: readonly SkillFile[] | undefined, after: readonly SkillFile[]): SkillDetail['files'] {
  const old = new Map(before?.map((each) => [each.path, each]))
  const now = after.map((each): SkillDetail['files'][number] => {
    const known = old.get(each.path)
    const isSame = known?.bytes.equals(each.bytes) === true && known.isExecutable === each.isExecutable
    const text = textOf(each)
    const was = known && textOf(known)
    return {
      path: each.path,
      bytes: each.bytes.length,
      change: isSame ? 'same' : known ? 'changed' : 'added',
      text,
      ...(!isSame && text !== null && typeof was === 'string' && { difference: diffText(was, text) }),
    }
  })
  const gone = [...old.values()].filter(({ path }) => !after.some((each) => each.path === path))
  return [...now, ...gone.map((each) => ({ path: each.path, bytes: 0, change: 'removed' as const, text: null }))]
}

/** Bytes that are text; what a reader would not see in it stays, for the one who decides. */
function textOf({ bytes }: SkillFile): string | null {
  if (bytes.length > MAX_SHOWN || bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
