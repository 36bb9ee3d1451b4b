import { type AST, ParseError, parseTOML } from 'toml-eslint-parser'
import { type Document, findingAtPlace, MAX_DEPTH, readText, refuse, tooDeep } from './document-text.ts'
import type { JsonRecord } from './json-record.ts'
import { type Locate, openSourceText, type Path, type Stretch } from './source-text.ts'

/** The parser takes time that grows with the square of some files; no settings of a person come near this. */
export const MAX_TOML_BYTES = 256 * 1024

/** TOML as the values that JSON has, with the place of each: dates and numbers without a JSON form become text. */
export function parseToml(bytes: Uint8Array): Document {
  const read = readText(bytes, MAX_TOML_BYTES)
  if ('refusal' in read) return read.refusal
  const { text } = read
  const program = parseProgram(text)
  if ('findings' in program) return program

  const root: Spot = { value: {}, depth: 0, head: { offset: 0, length: 0 }, children: new Map() }
  const problem = readTable(root, program.body[0])
  if (problem === 'depth') return tooDeep(text)
  const source = openSourceText(text, locateIn(root))
  if (!problem) return { source, value: root.value, findings: [] }
  const message = 'The key "__proto__" is not allowed anywhere in a document.'
  const place = source.placeOf(problem.offset, problem.length)
  return { source, value: undefined, findings: [findingAtPlace('MX001', message, place, { fix: 'Remove the key.' })] }
}

function parseProgram(text: string): AST.TOMLProgram | Document {
  try {
    return parseTOML(text)
  } catch (error) {
    // Its recursion is the only limit that the parser has.
    if (error instanceof RangeError)
      return refuse(text, 'The TOML is nested too deeply, or one text in it is too long, to be read.')
    if (!(error instanceof ParseError)) throw error
    const source = openSourceText(text)
    const place = source.placeOf(placeOfError(error, text), 1)
    const isTwice = error.message.startsWith('Defining a key')
    const finding = isTwice
      ? findingAtPlace('MX022', 'A key is defined twice.', place)
      : findingAtPlace('MX001', `This is not valid TOML: ${error.message}.`, place, {
          fix: 'Correct the TOML at this place.',
        })
    return { source, value: undefined, findings: [finding] }
  }
}

/** That a value is missing shows only behind the line break, where a reader does not look for it. */
function placeOfError({ index, message }: ParseError, text: string): number {
  const before = text.slice(0, index)
  return message.startsWith('Unspecified') ? before.trimEnd().length : before.length
}

/** A value, and where it stands: by its key where it is a table or a list. */
type Spot = { value: unknown; depth: number; head: Stretch; key?: Stretch; children: Map<string | number, Spot> }

/** Why the document is refused, with the place of a forbidden key. */
type Refusal = 'depth' | Stretch | undefined

function readTable(spot: Spot, { body }: AST.TOMLTopLevelTable | AST.TOMLTable | AST.TOMLInlineTable): Refusal {
  for (const entry of body) {
    const refusal = entry.type === 'TOMLTable' ? readSection(spot, entry) : readEntry(spot, entry)
    if (refusal) return refusal
  }
  return undefined
}

function readSection(root: Spot, table: AST.TOMLTable): Refusal {
  const names = [...table.key.keys]
  let spot: Spot = root
  for (const [index, step] of table.resolvedKey.entries()) {
    const key = typeof step === 'string' ? names.shift() : undefined
    if (step === '__proto__') return stretchOf(key ?? table.key)
    if (spot.depth >= MAX_DEPTH) return 'depth'
    const isList = typeof table.resolvedKey[index + 1] === 'number'
    spot = spot.children.get(step) ?? addChild(spot, step, stretchOf(key ?? table.key), isList ? [] : {})
  }
  return readTable(spot, table)
}

function readEntry(table: Spot, { key, value }: AST.TOMLKeyValue): Refusal {
  let spot = table
  for (const [index, part] of key.keys.entries()) {
    const name = part.type === 'TOMLBare' ? part.name : part.value
    if (name === '__proto__') return stretchOf(part)
    if (spot.depth >= MAX_DEPTH) return 'depth'
    if (index === key.keys.length - 1) return readContent(spot, name, value, stretchOf(part))
    spot = spot.children.get(name) ?? addChild(spot, name, stretchOf(part), {})
  }
  return undefined
}

function readContent(parent: Spot, step: string | number, node: AST.TOMLContentNode, key?: Stretch): Refusal {
  if (parent.depth >= MAX_DEPTH) return 'depth'
  if (node.type === 'TOMLValue') {
    addChild(parent, step, key, scalarOf(node)).head = stretchOf(node)
    return undefined
  }
  const head = key ?? { offset: node.range[0], length: 1 }
  if (node.type === 'TOMLInlineTable') return readTable(addChild(parent, step, head, {}), node)
  const list = addChild(parent, step, head, [])
  for (const [index, element] of node.elements.entries()) {
    const refusal = readContent(list, index, element)
    if (refusal) return refusal
  }
  return undefined
}

function addChild(parent: Spot, step: string | number, key: Stretch | undefined, value: unknown): Spot {
  const place = { head: key ?? parent.head, ...(typeof step === 'string' && key && { key }) }
  const spot: Spot = { value, depth: parent.depth + 1, ...place, children: new Map() }
  parent.children.set(step, spot)
  if (Array.isArray(parent.value)) parent.value.push(value)
  else (parent.value as JsonRecord)[step] = value
  return spot
}

function scalarOf(node: AST.TOMLValue): unknown {
  if (node.kind === 'string' || node.kind === 'boolean') return node.value
  if (node.kind === 'integer' || node.kind === 'float') return Number.isFinite(node.value) ? node.value : node.number
  return node.datetime
}

function stretchOf({ range: [start, end] }: { range: [number, number] }): Stretch {
  return { offset: start, length: end - start }
}

function locateIn(root: Spot): Locate {
  return (path: Path, at) => {
    let spot = root
    for (const step of path) {
      const child = spot.children.get(step)
      if (!child) return spot.head
      spot = child
    }
    return at === 'key' ? (spot.key ?? spot.head) : spot.head
  }
}
