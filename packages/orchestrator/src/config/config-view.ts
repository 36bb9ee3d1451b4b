import type { ConfigEntry } from '@matrix/protocol/http'
import { emptyLayer, type Layer } from './layer.ts'
import type { Merged, Placed } from './merge.ts'
import { type AuthGroup, isSecret, isSettingKey, type SettingKey, settingOf, settings, stepsOf } from './settings.ts'

/** Every setting there is, in the order of the table, with what is in force and where that comes from. */
export function viewEntries(
  merged: Merged['values'],
  layers: readonly Layer[],
  environment: Record<string, AuthGroup>,
): ConfigEntry[] {
  return Object.keys(settings)
    .filter(isSettingKey)
    .flatMap((key) => {
      const placed = [...merged].filter(([each]) => each === key || each.startsWith(`${key}.`))
      const given = key === 'authGroups' ? Object.entries(environment) : []
      const entries = [
        ...placed.flatMap(([each, value]) => placedEntries(key, stepsOf(each), value, layers)),
        ...given.flatMap(([name, group]) => leavesOf([key, name], group).map((leaf) => entry(key, leaf, nowhere))),
      ]
      return entries.length > 0 ? entries : [defaultEntry(key)]
    })
}

type Leaf = { path: (string | number)[]; value: unknown }
type Origin = Pick<ConfigEntry, 'origin' | 'file' | 'line'>

const nowhere: Origin = { origin: 'environment', file: null, line: null }

function placedEntries(
  key: SettingKey,
  path: string[],
  { value, layer }: Placed,
  layers: readonly Layer[],
): ConfigEntry[] {
  const { file, lineOf } = layers.find((each) => each.layer === layer) ?? emptyLayer(layer, '')
  const leaves = settingOf(key).merge === 'named' ? leavesOf(path, value) : [{ path, value }]
  return leaves.map((leaf) => entry(key, leaf, { origin: layer, file, line: lineOf(leaf.path) }))
}

/** The fields of an entry, each by itself, so that a secret can be left out and the rest shown. */
function leavesOf(path: (string | number)[], value: unknown): Leaf[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [{ path, value }]
  return Object.entries(value).flatMap(([name, part]) => leavesOf([...path, name], part))
}

function entry(key: SettingKey, { path, value }: Leaf, origin: Origin): ConfigEntry {
  const hidden = isSecret(path, value)
  const { description, layers } = settingOf(key)
  return {
    key: path.join('.'),
    value: hidden ? null : withoutSecrets(path, value),
    isSecret: hidden,
    ...origin,
    description,
    settableIn: [...layers],
  }
}

function withoutSecrets(path: (string | number)[], value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return value.map((item, index) => (isSecret([...path, index], item) ? '(hidden)' : item))
}

function defaultEntry(key: SettingKey): ConfigEntry {
  const { description, layers, default: value = null } = settingOf(key)
  return {
    key,
    value,
    isSecret: false,
    origin: 'default',
    file: null,
    line: null,
    description,
    settableIn: [...layers],
  }
}
