import { RE2JS } from 're2js'
import { isRecord } from '../document/json-record.ts'

/** Deep enough for any definition; a reference that leads to itself ends here. */
const MAX_DEPTH = 32

/**
 * The arguments, at any depth, that a definition does not declare. An object without a word about its fields, and one that
 * says that it takes more of them, declares whatever is in it.
 */
export function findUndeclared(schema: unknown, input: unknown): string[] {
  return walk({ root: schema, schemas: [schema], value: input, path: '', depth: 0 })
}

type Step = { root: unknown; schemas: readonly unknown[]; value: unknown; path: string; depth: number }

function walk({ root, schemas, value, path, depth }: Step): string[] {
  if (typeof value !== 'object' || value === null) return []
  const known = schemas.flatMap((each) => partsOf(each, root, 0))
  const isNext = { root, depth: depth + 1 }
  if (depth > MAX_DEPTH) return [path]
  if (Array.isArray(value)) {
    const items = known.flatMap(({ items, prefixItems }) => [items, ...(Array.isArray(prefixItems) ? prefixItems : [])])
    return value.flatMap((each) => walk({ ...isNext, schemas: items, value: each, path: `${path}[]` }))
  }
  const isOpen = !known.some(({ properties, patternProperties, additionalProperties }) =>
    [properties, patternProperties, additionalProperties].some((each) => each !== undefined),
  )
  return Object.entries(value).flatMap(([name, each]) => {
    const place = path === '' ? name : `${path}.${name}`
    const declared = isOpen ? [true] : known.flatMap((part) => schemasFor(part, name))
    return declared.length === 0 ? [place] : walk({ ...isNext, schemas: declared, value: each, path: place })
  })
}

type Part = Record<string, unknown>

/** A schema with all that it is put together from. */
function partsOf(schema: unknown, root: unknown, depth: number): Part[] {
  if (!isRecord(schema) || depth > MAX_DEPTH) return []
  const others = ['allOf', 'anyOf', 'oneOf'].flatMap((key) => (Array.isArray(schema[key]) ? schema[key] : []))
  const branches = ['then', 'else'].map((key) => schema[key])
  const more = [...others, ...branches, resolveReference(schema.$ref, root)]
  return [schema, ...more.flatMap((each) => partsOf(each, root, depth + 1))]
}

function resolveReference(reference: unknown, root: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  const steps = reference.slice(1).split('/').filter(Boolean)
  return steps.reduce<unknown>((place, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return isRecord(place) && Object.hasOwn(place, name) ? place[name] : undefined
  }, root)
}

function schemasFor({ properties, patternProperties, additionalProperties }: Part, name: string): unknown[] {
  if (isRecord(properties) && Object.hasOwn(properties, name)) return [properties[name]]
  const byPattern = isRecord(patternProperties) ? Object.entries(patternProperties) : []
  const matching = byPattern.filter(([pattern]) => matches(pattern, name)).map(([, each]) => each)
  if (matching.length > 0) return matching
  return additionalProperties === true || isRecord(additionalProperties) ? [additionalProperties] : []
}

/** One that cannot be read declares nothing. */
function matches(pattern: string, name: string): boolean {
  try {
    return RE2JS.compile(pattern).test(name)
  } catch {
    return false
  }
}
