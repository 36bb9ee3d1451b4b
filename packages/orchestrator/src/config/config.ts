import { join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import type { ConfigLayer, ConfigProblem, ConfigView } from '@matrix/protocol/http'
import type { World } from '../world.ts'
import { viewEntries } from './config-view.ts'
import { environmentAuth } from './environment-auth.ts'
import { removeFromJsonc, setInJsonc } from './jsonc-edit.ts'
import { brokenLayer, emptyLayer, findSecrets, type Layer, readLayer } from './layer.ts'
import { type Merged, mergeLayers, type Placed } from './merge.ts'
import {
  type AuthGroup,
  isReference,
  isSettingKey,
  type MatrixConfig,
  type McpServerConfig,
  providerOf,
  type SettingKey,
  settingOf,
  settings,
  stepsOf,
} from './settings.ts'
import { openTrust, subjectDigest, type Trust } from './trust.ts'

/** A project as its settings need it: the data folder is named by the id, the repository lies at the path. */
export type ConfigProject = { id: string; path: string }

type Filled = { [Key in SettingKey]: (typeof settings)[Key] extends { default: unknown } ? Key : never }[SettingKey]

/** What is in force: every key that has a default has a value. */
export type Settings = Omit<MatrixConfig, Filled> & Required<Pick<MatrixConfig, Filled>>

/** A server that came with the repository and waits for its user to say yes to exactly this entry. */
export type UnapprovedServer = {
  name: string
  server: McpServerConfig
  digest: string
  file: string
  line: number | null
}

export type ResolvedConfig = {
  settings: Settings
  /** What is wrong in the files; all of it has been left out of `settings`. */
  problems: ConfigProblem[]
  unapprovedServers: UnapprovedServer[]
}

export type Config = {
  resolve(project?: ConfigProject): Promise<ResolvedConfig>
  view(project?: ConfigProject): Promise<ConfigView>
  /** `key` may lead into a setting: `authGroups.default.anthropicApiKey`. */
  set(layer: ConfigLayer, key: string, value: unknown, project?: ConfigProject): Promise<void>
  unset(layer: ConfigLayer, key: string, project?: ConfigProject): Promise<void>
  /** Adds an entry to a list; one that is there already stays. */
  addTo(key: ListKey, entry: string, place: ListPlace): Promise<void>
  /** Removes an entry, and answers whether it was there. */
  removeFrom(key: ListKey, entry: string, place: ListPlace): Promise<boolean>
  unapprovedServers(project: ConfigProject): Promise<UnapprovedServer[]>
  /** `digest` is that of the entry the person was shown. */
  approveServer(project: ConfigProject, name: string, digest: string): Promise<void>
}

export type ListKey = 'deny' | 'hosts' | 'messagesTo'
export type ListPlace = { layer: ConfigLayer; project?: ConfigProject | undefined }

export type ConfigOptions = { dataDirectory: string; trust?: Trust }

/** The settings of this user and of their projects. Files are read when asked, so an edit by hand counts at once. */
export function openConfig(world: Pick<World, 'files' | 'clock' | 'env'>, options: ConfigOptions): Config {
  const { dataDirectory, trust = openTrust(world, { dataDirectory }) } = options
  let tail: Promise<unknown> = Promise.resolve()

  async function load(project: ConfigProject | undefined): Promise<Loaded> {
    const layers = await Promise.all(layersOf(project).map((layer) => readFileOf(layer, project)))
    const { usable, unapproved } = await withoutUnapproved(layers, project)
    const merged = mergeLayers(usable)
    const heldProblems = merged.held.map((held) => heldProblem(held, layers))
    const unapprovedProblems = unapproved.map(unapprovedProblem)
    return {
      layers,
      merged: merged.values,
      unapproved,
      problems: [...layers.flatMap(({ problems }) => problems), ...heldProblems, ...unapprovedProblems],
      environment: hasAuthGroup(merged.values) ? {} : environmentAuth(world.env),
    }
  }

  async function readFileOf(layer: ConfigLayer, project: ConfigProject | undefined): Promise<Layer> {
    const file = fileOf(layer, project)
    try {
      return readLayer(layer, file, await readText(layer, file, project))
    } catch (error) {
      const { message, hint } = error instanceof MatrixError ? error : unreadable(file, error)
      return brokenLayer(layer, file, { message: `The file is left out: ${message}`, hint })
    }
  }

  async function withoutUnapproved(layers: Layer[], project: ConfigProject | undefined): Promise<Sifted> {
    const repo = layers.find(({ layer }) => layer === 'repo')
    const servers = Object.entries((repo?.values.mcpServers ?? {}) as Record<string, McpServerConfig>)
    if (!repo || !project || servers.length === 0) return { usable: layers, unapproved: [] }

    const judged = await Promise.all(
      servers.map(async ([name, server]) => {
        const subject = { kind: 'server' as const, projectId: project.id, name, content: server }
        const line = repo.lineOf(['mcpServers', name])
        const waiting = { name, server, digest: subjectDigest(subject), file: repo.file, line }
        return { isTrusted: await trust.isTrusted(subject), waiting }
      }),
    )
    const trusted = judged.filter(({ isTrusted }) => isTrusted).map(({ waiting }) => [waiting.name, waiting.server])
    const usable = { ...repo, values: { ...repo.values, mcpServers: Object.fromEntries(trusted) } }
    return {
      usable: layers.map((layer) => (layer === repo ? usable : layer)),
      unapproved: judged.filter(({ isTrusted }) => !isTrusted).map(({ waiting }) => waiting),
    }
  }

  /** What came with a repository may be a link to anything. */
  function readText(layer: ConfigLayer, file: string, project: ConfigProject | undefined) {
    return world.files.read(file, layer === 'repo' && project ? { inside: project.path } : undefined)
  }

  function fileOf(layer: ConfigLayer, project: ConfigProject | undefined): string {
    if (layer === 'global') return join(dataDirectory, 'config.json')
    if (!project)
      throw new MatrixError('REQUEST_INVALID', `The ${layer} layer belongs to a project, and none is named.`, {
        hint: 'Name the project, or use the global layer.',
      })
    return layer === 'repo'
      ? join(project.path, '.mxd', 'config.json')
      : join(dataDirectory, 'projects', project.id, 'config.json')
  }

  /** One edit at a time: the next one starts from what the last one wrote. */
  function edit(
    layer: ConfigLayer,
    key: string,
    project: ConfigProject | undefined,
    change: (text: string, path: string[]) => string | undefined,
  ): Promise<void> {
    const done = tail.then(async () => {
      const path = checkKey(layer, key)
      const file = fileOf(layer, project)
      const text = ((await readText(layer, file, project)) ?? '').replace(/^\uFEFF/, '')
      const before = readLayer(layer, file, text)
      if (before.isBroken) throw invalid(before.problems[0], file)
      const changed = change(text, path)
      if (changed === undefined)
        throw new MatrixError('CONFIG_INVALID', `${file}: what stands above "${key}" is not an object.`)
      if (changed === text) return
      const found = findNewProblem(readLayer(layer, file, changed), before, key)
      if (found) throw invalid(found, file)
      await world.files.write(file, changed)
    })
    tail = done.catch(() => {})
    return done
  }

  function editList(key: ListKey, { layer, project }: ListPlace, change: (entries: string[]) => string[]) {
    return edit(layer, key, project, (text, path) => {
      const entries = (readLayer(layer, fileOf(layer, project), text).values[key] ?? []) as string[]
      const changed = change(entries)
      return changed.length === entries.length ? text : setInJsonc(text, path, changed)
    })
  }

  async function unapprovedServers(project: ConfigProject): Promise<UnapprovedServer[]> {
    return (await load(project)).unapproved
  }

  return {
    async resolve(project) {
      const { layers, merged, unapproved, problems, environment } = await load(project)
      const missing: ConfigProblem[] = []
      const authGroups = { ...environment, ...resolveGroups(merged, layers, world.env, missing) }
      return {
        settings: { ...fill(merged), authGroups },
        problems: [...problems, ...missing],
        unapprovedServers: unapproved,
      }
    },
    async view(project) {
      const { layers, merged, problems, environment } = await load(project)
      return { entries: viewEntries(merged, layers, environment), problems }
    },
    async set(layer, key, value, project) {
      if (value === undefined || value === null)
        throw new MatrixError('CONFIG_INVALID', `"${key}" was given no value.`, {
          hint: 'Give a value, or unset the key.',
        })
      await edit(layer, key, project, (text, path) => {
        if (layer === 'repo' && findSecrets(path, value).length > 0)
          throw new MatrixError(
            'CONFIG_FORBIDDEN',
            `The value of "${key}" holds a credential, and a repository travels.`,
            {
              hint: 'Write $env:NAME in its place, or set it in the local layer.',
            },
          )
        return setInJsonc(text, path, value)
      })
    },
    unset: (layer, key, project) => edit(layer, key, project, removeFromJsonc),
    addTo: (key, entry, place) => editList(key, place, (entries) => [...new Set([...entries, entry])]),
    async removeFrom(key, entry, place) {
      let wasThere = false
      await editList(key, place, (entries) => {
        wasThere = entries.includes(entry)
        return entries.filter((each) => each !== entry)
      })
      return wasThere
    },
    unapprovedServers,
    async approveServer(project, name, digest) {
      const found = (await unapprovedServers(project)).find((each) => each.name === name)
      if (!found)
        throw new MatrixError(
          'APPROVAL_UNKNOWN',
          `No server ${JSON.stringify(name)} of the repository waits for approval.`,
        )
      await trust.add({ kind: 'server', projectId: project.id, name, content: found.server }, digest)
    },
  }
}

type Loaded = {
  layers: Layer[]
  merged: Merged['values']
  unapproved: UnapprovedServer[]
  problems: ConfigProblem[]
  environment: Record<string, AuthGroup>
}

type Sifted = { usable: Layer[]; unapproved: UnapprovedServer[] }

function layersOf(project: ConfigProject | undefined): ConfigLayer[] {
  return project ? ['global', 'repo', 'local'] : ['global']
}

function hasAuthGroup(merged: Merged['values']): boolean {
  return [...merged.keys()].some((key) => key.startsWith('authGroups.'))
}

function fill(merged: Merged['values']): Settings {
  const filled: Record<string, unknown> = {}
  for (const key of Object.keys(settings).filter(isSettingKey)) {
    const { merge, default: byDefault } = settingOf(key)
    const value = merge === 'named' ? entriesOf(merged, key) : (merged.get(key)?.value ?? byDefault)
    if (value !== undefined) filled[key] = structuredClone(value)
  }
  return filled as Settings
}

function entriesOf(merged: Merged['values'], key: SettingKey): Record<string, unknown> {
  const prefix = `${key}.`
  const entries = [...merged].filter(([each]) => each.startsWith(prefix))
  return Object.fromEntries(entries.map(([each, { value }]) => [each.slice(prefix.length), value]))
}

/** `$env:NAME` gives way to what the variable holds. A field whose variable is not set is as good as missing. */
function resolveGroups(
  merged: Merged['values'],
  layers: Layer[],
  env: (name: string) => string | undefined,
  problems: ConfigProblem[],
): Record<string, AuthGroup> {
  const groups = entriesOf(merged, 'authGroups') as Record<string, Record<string, string>>
  return Object.fromEntries(
    Object.entries(groups).map(([name, group]) => {
      const fields = Object.entries(group).flatMap(([field, value]) => {
        if (!isReference(value)) return [[field, value]]
        const variable = value.slice('$env:'.length)
        const found = env(variable)?.trim()
        if (!found) problems.push(missingVariable(merged, layers, ['authGroups', name, field], variable))
        return found ? [[field, found]] : []
      })
      return [name, { provider: providerOf(group), ...Object.fromEntries(fields) } as AuthGroup]
    }),
  )
}

function missingVariable(merged: Merged['values'], layers: Layer[], path: string[], variable: string): ConfigProblem {
  const placed = merged.get(path.slice(0, 2).join('.')) as Placed
  const { layer, file, lineOf } = getLayer(layers, placed.layer)
  return {
    ...{ layer, file, line: lineOf(path), key: path.join('.') },
    message: `The environment variable ${variable} is not set.`,
    hint: `Set ${variable} where Matrix is started, or write the value here.`,
  }
}

function heldProblem({ key, wanted, limit }: Merged['held'][number], layers: Layer[]): ConfigProblem {
  const { layer, file, lineOf } = getLayer(layers, 'repo')
  return {
    ...{ layer, file, line: lineOf([key]), key },
    message: `The repository asks for a "${key}" of ${wanted}, above yours of ${limit}: yours holds.`,
    hint: `A repository can only lower it. If you agree, set ${key} in the local layer.`,
  }
}

function unapprovedProblem({ name, file, line }: UnapprovedServer): ConfigProblem {
  return {
    ...{ layer: 'repo' as const, file, line, key: `mcpServers.${name}` },
    message: `The server "${name}" came with the repository and is not started.`,
    hint: 'Read the entry, then approve it if you want that program to run.',
  }
}

function getLayer(layers: Layer[], name: ConfigLayer): Layer {
  return layers.find(({ layer }) => layer === name) ?? emptyLayer(name, '')
}

function checkKey(layer: ConfigLayer, key: string): string[] {
  const path = stepsOf(key)
  const [first = ''] = path
  if (!isSettingKey(first) || path.some((step) => step === ''))
    throw new MatrixError('CONFIG_INVALID', `There is no setting ${JSON.stringify(key)}.`, {
      hint: 'matrix config list shows all there are.',
    })
  const { layers } = settingOf(first)
  if (!layers.includes(layer))
    throw new MatrixError('CONFIG_FORBIDDEN', `The ${layer} layer may not set "${first}".`, {
      hint: `Set it in the ${layers.join(' or ')} layer.`,
    })
  return path
}

/** A problem of the value itself, or one that the edit has brought about elsewhere in its entry. */
function findNewProblem({ problems }: Layer, before: Layer, key: string): ConfigProblem | undefined {
  const known = new Set(before.problems.map(identity))
  return problems.find((problem) => isAbout(problem.key ?? '', key) || !known.has(identity(problem)))
}

function isAbout(found: string, key: string): boolean {
  return found === key || found.startsWith(`${key}.`) || key.startsWith(`${found}.`)
}

/** Lines move when text above them changes. */
function identity({ key, message }: ConfigProblem): string {
  return JSON.stringify([key, message])
}

/** A restriction that cannot be read must not count as none. What a repository wishes for itself is left out as ever. */
export function checkRestrictions(problems: readonly ConfigProblem[]): void {
  const restrictions = ['deny', 'sandbox']
  const found = problems.find(
    ({ layer, key }) => layer !== 'repo' && (key === null || restrictions.includes(key.split('.')[0] ?? '')),
  )
  if (found) throw invalid(found, found.file)
}

function invalid(problem: ConfigProblem | undefined, file: string): MatrixError {
  const place = problem?.line ? `${file}:${problem.line}` : file
  const message = `${place}: ${problem?.message ?? 'The file cannot be used.'}`
  return new MatrixError('CONFIG_INVALID', message, problem ? { hint: problem.hint } : {})
}

function unreadable(file: string, cause: unknown): MatrixError {
  return new MatrixError('DOCUMENT_UNREADABLE', `${file} cannot be read.`, { cause })
}
