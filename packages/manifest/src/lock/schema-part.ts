import { RE2JS } from 're2js'
import { isRecord } from '../document/json-record.ts'

/** Deep enough for any definition; a reference that leads to itself ends here. */
export const MAX_SCHEMA_DEPTH = 32

export type SchemaPart = Record<string, unknown>

/** A schema with all that it is put together from. */
export function schemaParts(schema: unknown, root: unknown, depth = 0): SchemaPart[] {
  if (!isRecord(schema) || depth > MAX_SCHEMA_DEPTH) return []
  const others = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => (Array.isArray(schema[key]) ? schema[key] : []))
  const branches = ['then', 'else'].map((key) => schema[key])
  const more = [...others, ...branches, resolveReference(schema.$ref, root)]
  return [schema, ...more.flatMap((each) => schemaParts(each, root, depth + 1))]
}

/** What a schema says of the members of a list. */
export function itemSchemas({ items, prefixItems }: SchemaPart): unknown[] {
  return [items, ...(Array.isArray(prefixItems) ? prefixItems : [])].filter((each) => each !== undefined)
}

/** What a schema says of one field by its name; nothing for one that it only lets pass. */
export function namedSchemas({ properties }: SchemaPart, name: string): unknown[] {
  return isRecord(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []
}

/** The same, with the fields that it lets pass by a pattern or by taking more of them. */
export function acceptedSchemas(part: SchemaPart, name: string): unknown[] {
  const named = namedSchemas(part, name)
  if (named.length > 0) return named
  const { patternProperties, additionalProperties } = part
  const byPattern = isRecord(patternProperties) ? Object.entries(patternProperties) : []
  const matching = byPattern.filter(([pattern]) => matches(pattern, name)).map(([, each]) => each)
  if (matching.length > 0) return matching
  return additionalProperties === true || isRecord(additionalProperties) ? [additionalProperties] : []
}

/** Whether none of the parts says a word about fields, so that every field is accepted. */
export function acceptsAnything(parts: readonly SchemaPart[]): boolean {
  return !parts.some(({ properties, patternProperties, additionalProperties }) =>
    [properties, patternProperties, additionalProperties].some((each) => each !== undefined),
  )
}

function resolveReference(reference: unknown, root: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  const steps = reference.slice(1).split('/').filter(Boolean)
  return steps.reduce<unknown>((place, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return isRecord(place) && Object.hasOwn(place, name) ? place[name] : undefined
  }, root)
}

/** One that cannot be read declares nothing. */
function matches(pattern: string, name: string): boolean {
  try {
    return RE2JS.compile(pattern).test(name)
  } catch {
    return false
  }
}
