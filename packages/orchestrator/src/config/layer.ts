import { type Document, parseDocument } from '@matrix/manifest'
import type { ConfigLayer, ConfigProblem } from '@matrix/protocol/http'
import * as z from 'zod'
import { nearestName } from './nearest-name.ts'
import { isSecret, isSettingKey, type Setting, type SettingKey, settingOf, settings } from './settings.ts'

type Path = readonly (string | number)[]

/** One file of settings: what is sound in it, and what is wrong with the rest. */
export type Layer = {
  layer: ConfigLayer
  file: string
  /** Only what may stand in this layer and is valid. */
  values: Partial<Record<SettingKey, unknown>>
  problems: ConfigProblem[]
  /** The file is not JSON at all, so nothing of it counts and nothing can be edited in it. */
  isBroken: boolean
  lineOf(path: Path): number | null
}

/** Comments and trailing commas are welcome. A missing or blank file is one without settings. */
export function readLayer(layer: ConfigLayer, file: string, text: string | undefined): Layer {
  if (text === undefined || text.trim() === '') return emptyLayer(layer, file)
  const document = parseDocument(Buffer.from(text), { relaxed: true })
  const reader = openReader(layer, file, document)
  if (document.value === undefined || document.findings.length > 0) {
    const problems = document.findings.map(({ line, message, fix }) => ({
      ...{ layer, file, line, key: null },
      message: `The file is left out: ${message}`,
      hint: fix,
    }))
    return { ...emptyLayer(layer, file), problems, isBroken: true }
  }
  return reader.read()
}

export function brokenLayer(layer: ConfigLayer, file: string, reason: { message: string; hint: string }): Layer {
  return { ...emptyLayer(layer, file), problems: [{ layer, file, line: null, key: null, ...reason }], isBroken: true }
}

export function emptyLayer(layer: ConfigLayer, file: string): Layer {
  return { layer, file, values: {}, problems: [], isBroken: false, lineOf: () => null }
}

function openReader(layer: ConfigLayer, file: string, { source, value }: Document): { read(): Layer } {
  const problems: ConfigProblem[] = []
  const values: Layer['values'] = {}
  const lineOf = (path: Path) => source.locate(path, 'key').line

  function complain(path: Path, message: string, hint: string): void {
    problems.push({ layer, file, line: lineOf(path), key: path.join('.') || null, message, hint })
  }

  function read(): Layer {
    const isBroken = !isRecord(value)
    if (isBroken) complain([], 'The file is left out: it must hold an object.', 'Write { } around the settings.')
    else for (const [key, part] of Object.entries(value)) readKey(key, part)
    return { layer, file, values, problems, isBroken, lineOf }
  }

  function readKey(key: string, part: unknown): void {
    if (!isSettingKey(key)) complainUnknown([key], Object.keys(settings))
    else if (!settingOf(key).layers.includes(layer)) complainForbidden(key, part)
    else readSetting(key, part, settingOf(key))
  }

  function readSetting(key: SettingKey, part: unknown, { entry, schema }: Setting): void {
    if (!entry) {
      if (isSound([key], part, schema)) values[key] = part
    } else if (isRecord(part)) {
      const sound = Object.entries(part).filter(([name, value]) => isSoundEntry(key, name, value, entry(name)))
      values[key] = Object.fromEntries(sound)
    } else complain([key], `"${key}" must be an object.`, 'Name each entry of it.')
  }

  function isSoundEntry(key: SettingKey, name: string, part: unknown, schema: z.ZodType | undefined): boolean {
    if (schema) return isSound([key, name], part, schema)
    complain([key, name], `There can be no "${shown(name)}" in "${key}".`, nameHint(key))
    return false
  }

  function isSound(path: Path, part: unknown, schema: z.ZodType): boolean {
    const { error } = schema.safeParse(part)
    const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
    for (const issue of error?.issues ?? []) {
      const inside = issue.path as (string | number)[]
      const at = [...path, ...inside]
      if (issue.code === 'unrecognized_keys') for (const key of issue.keys) complainUnknown([...at, key], known)
      else complain(at, `"${at.join('.')}" ${complaint(issue, valueAt(part, inside))}.`, 'Correct the value.')
    }
    return !error && !holdsSecret(path, part)
  }

  /** A repository travels, so a credential in it is as good as published. */
  function holdsSecret(path: Path, part: unknown): boolean {
    if (layer !== 'repo') return false
    const found = findSecrets(path, part)
    for (const place of found)
      complain(
        place,
        `"${place.join('.')}" is a credential in a file of the repository, and is ignored.`,
        'Take it out, revoke it, and write $env:NAME or set it in your own settings.',
      )
    return found.length > 0
  }

  function complainForbidden(key: SettingKey, part: unknown): void {
    const { layers } = settingOf(key)
    const where = layers.join(' or ')
    complain([key], `"${key}" is ignored here: the ${layer} layer may not set it.`, `Set it in the ${where} layer.`)
    holdsSecret([key], part)
  }

  function complainUnknown(path: Path, known: string[]): void {
    const nearest = nearestName(String(path.at(-1)), known)
    complain(
      path,
      `There is no setting "${shown(path.join('.'))}".`,
      nearest ? `Did you mean "${nearest}"?` : 'Remove it; matrix config list shows all there are.',
    )
  }

  return { read }
}

/** The ways to every credential in a value that stands at this path. */
export function findSecrets(path: Path, part: unknown): Path[] {
  if (typeof part !== 'object' || part === null) return isSecret(path, part) ? [path] : []
  if (Array.isArray(part)) return part.flatMap((item, index) => findSecrets([...path, index], item))
  return Object.entries(part).flatMap(([key, item]) => findSecrets([...path, key], item))
}

function nameHint(key: SettingKey): string {
  if (key === 'auth') return 'It knows sessionIdleMs, sessionMaxMs and allowedHosts.'
  if (key === 'mcpServers')
    return 'An alias has lower-case letters, digits, - and single _, at most 32 of them, and is not mxd, builtin or native.'
  return 'A name has letters, digits, - and _, at most 64 of them.'
}

const typeWords: Record<string, string> = {
  string: 'text',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
}

/** In words that never repeat the value: it may be a secret that stands in the wrong place. */
function complaint(issue: z.core.$ZodIssue, found: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return `${found === undefined ? 'is required:' : 'must be'} ${typeWords[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${issue.values.map((each) => JSON.stringify(each)).join(' or ')}`
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`
    case 'too_big':
      return issue.origin === 'string' || issue.origin === 'array' ? 'is too long' : `must be at most ${issue.maximum}`
    default:
      return `must be ${issue.message}`
  }
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (part, step) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, step)
        ? (part as Record<string | number, unknown>)[step]
        : undefined,
    value,
  )
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80)).slice(1, -1)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
