import {
  acceptedSchemas,
  acceptsAnything,
  itemSchemas,
  MAX_SCHEMA_DEPTH,
  namedSchemas,
  type SchemaPart,
  schemaParts,
} from './schema-part.ts'

/**
 * The arguments, at any depth, that a definition does not declare. An object without a word about its fields, and one that
 * says that it takes more of them, declares whatever is in it.
 */
export function findUndeclared(schema: unknown, input: unknown): string[] {
  return walk({ root: schema, schemas: [schema], value: input, path: '', depth: 0, find: accepted })
}

/** The arguments that a definition does not name: those that it takes only because it takes anything. */
export function findUnnamed(schema: unknown, input: unknown): string[] {
  return walk({ root: schema, schemas: [schema], value: input, path: '', depth: 0, find: named })
}

type Find = (known: readonly SchemaPart[], name: string) => unknown[]
type Step = { root: unknown; schemas: readonly unknown[]; value: unknown; path: string; depth: number; find: Find }

const accepted: Find = (known, name) =>
  acceptsAnything(known) ? [true] : known.flatMap((part) => acceptedSchemas(part, name))
const named: Find = (known, name) => known.flatMap((part) => namedSchemas(part, name))

function walk({ root, schemas, value, path, depth, find }: Step): string[] {
  if (typeof value !== 'object' || value === null) return []
  const known = schemas.flatMap((each) => schemaParts(each, root))
  const next = { root, find, depth: depth + 1 }
  if (depth > MAX_SCHEMA_DEPTH) return [path]
  if (Array.isArray(value)) {
    const items = known.flatMap(itemSchemas)
    return value.flatMap((each) => walk({ ...next, schemas: items, value: each, path: `${path}[]` }))
  }
  return Object.entries(value).flatMap(([name, each]) => {
    const place = path === '' ? name : `${path}.${name}`
    const declared = find(known, name)
    return declared.length === 0 ? [place] : walk({ ...next, schemas: declared, value: each, path: place })
  })
}
