/** The annotation by which a schema asks that an argument also stand in an HTTP header. */
const ANNOTATION = 'x-mcp-header'
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const simple = new Set<unknown>(['string', 'integer', 'boolean'])
/** What stands below these is data and no schema. */
const data = new Set(['const', 'enum', 'default', 'examples'])

type Schema = Record<string, unknown>

/**
 * What is wrong with the headers that a schema asks for, if anything is. The protocol allows them on named arguments of
 * simple types, each under a name of its own, and forbids calling a tool that has one anywhere else.
 */
export function findHeaderFault(inputSchema: object): string | undefined {
  const names = new Set<string>()
  return visit(inputSchema, true)

  function visit(node: unknown, isArgument: boolean): string | undefined {
    if (typeof node !== 'object' || node === null) return undefined
    const { properties, ...rest } = node as Schema
    const below = [
      ...Object.values(properties ?? {}).map((part) => [part, isArgument] as const),
      ...Object.entries(rest).flatMap(([key, part]) => (data.has(key) ? [] : [[part, false] as const])),
    ]
    return faultOf(rest, isArgument && node !== inputSchema) ?? firstOf(below, ([part, within]) => visit(part, within))
  }

  function faultOf(schema: Schema, isArgument: boolean): string | undefined {
    if (!Object.hasOwn(schema, ANNOTATION)) return undefined
    const name = schema[ANNOTATION]
    if (!isArgument) return 'That is for named arguments only.'
    if (typeof name !== 'string' || !token.test(name)) return 'Its name is no name of a header.'
    if (!simple.has(schema.type)) return `That is for strings, integers and booleans only, but "${name}" is none.`
    if (names.has(name.toLowerCase())) return `Two of them have the name "${name}".`
    names.add(name.toLowerCase())
    return undefined
  }
}

function firstOf<Item, Found>(items: readonly Item[], find: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}
