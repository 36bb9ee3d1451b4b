import type { ConfigLayer } from '@matrix/protocol/http'
import { isSettingKey, type SettingKey, settingOf, settings } from './settings.ts'

export type LayerValues = { layer: ConfigLayer; values: Partial<Record<SettingKey, unknown>> }

/** A value in force, and the layer it comes from. */
export type Placed = { value: unknown; layer: ConfigLayer }

export type Merged = {
  /** By key; of what is merged by name, each entry by `key.name`. What no layer sets is not here. */
  values: Map<string, Placed>
  /** Limits that a repository wanted higher than its user; they were left as they are. */
  held: { key: SettingKey; wanted: number; limit: number }[]
}

const order: readonly ConfigLayer[] = ['global', 'repo', 'local']

/** Local over repo over global, by the rule of each key. */
export function mergeLayers(layers: readonly LayerValues[]): Merged {
  const merged: Merged = { values: new Map(), held: [] }
  const sorted = [...layers].sort((a, b) => order.indexOf(a.layer) - order.indexOf(b.layer))
  for (const { layer, values } of sorted)
    for (const key of Object.keys(values)) if (isSettingKey(key)) place(merged, key, { layer, value: values[key] })
  return merged
}

function place(merged: Merged, key: SettingKey, placed: Placed): void {
  const { merge } = settingOf(key)
  if (merge === 'named') placeEntries(merged, key, placed)
  else if (merge === 'add') addToList(merged, key, placed)
  else if (merge === 'override' || !isHeld(merged, key, placed)) merged.values.set(key, placed)
}

function placeEntries({ values }: Merged, key: SettingKey, { layer, value }: Placed): void {
  for (const [name, entry] of Object.entries(value as object)) values.set(`${key}.${name}`, { layer, value: entry })
}

/** Nobody can take back what another layer denies. */
function addToList({ values }: Merged, key: SettingKey, { layer, value }: Placed): void {
  const before = (values.get(key)?.value ?? []) as unknown[]
  values.set(key, { layer, value: [...new Set([...before, ...(value as unknown[])])] })
}

/** A limit is there to protect the user from what they have cloned, so a clone cannot lift it. */
function isHeld(merged: Merged, key: SettingKey, { layer, value }: Placed): boolean {
  const limit = (merged.values.get(key)?.value ?? (settings[key] as { default?: unknown }).default) as
    | number
    | undefined
  if (layer !== 'repo' || limit === undefined || (value as number) <= limit) return false
  merged.held.push({ key, wanted: value as number, limit })
  return true
}
